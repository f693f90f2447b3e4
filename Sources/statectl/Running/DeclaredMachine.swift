import StateMachineCore
import StateMachineDeclaration
import SystemPackage

/// Reads the files that commands about declared machines are given.
enum DeclaredMachine {
    /// The most bytes of a trace.
    ///
    /// 1 MiB: tens of thousands of lines.
    private static let traceBytes = 1 << 20

    /// A file, whatever it says.
    static func file(_ path: String) throws -> DeclarationFile {
        do {
            return try DeclarationFile(path: path)
        } catch {
            StandardError.write("statectl: \(error.sentence.printable)")
            throw ExitStatus.configuration
        }
    }

    /// The machine that a file declares, for those who run none of its commands; its errors go to
    /// standard error.
    static func declaration(_ path: String) throws -> Declaration {
        let reading = DeclarationReading(try self.file(path).bytes)
        guard let declaration = reading.declaration else {
            for problem in reading.problems { StandardError.write(problem.line(in: path)) }
            throw ExitStatus.configuration
        }
        return declaration
    }

    /// The text of a trace.
    static func text(of path: String) throws -> String {
        let bytes: [UInt8]
        do {
            let file = try FileDescriptor.open(FilePath(path), .readOnly, options: .closeOnExec)
            bytes = try file.closeAfter { try Self.bytes(of: file) }
        } catch {
            StandardError.write("statectl: cannot read \(path.printable): \(error)")
            throw ExitStatus.no
        }
        guard bytes.count <= Self.traceBytes, let text = String(validating: bytes, as: UTF8.self)
        else {
            StandardError.write(
                "statectl: \(path.printable) is not a trace: it is longer than 1 MiB, or not UTF-8"
            )
            throw ExitStatus.no
        }
        return text
    }

    private static func bytes(of file: FileDescriptor) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count <= Self.traceBytes {
            let more = try [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
                count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
            }
            if more.isEmpty { break }
            bytes += more
        }
        return bytes
    }
}
