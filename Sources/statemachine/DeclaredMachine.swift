import Glibc
import StateMachineDeclaration
import StateMachineEmbedding
import StateMachineProtocol
import StateMachineServer

/// The machine that a file declares.
struct DeclaredMachine {
    let schema: Schema
    /// Warnings of what may not do what was meant: `FILE:LINE:COLUMN: sentence`.
    let warnings: [String]

    /// Reads the named file, or the default one if it exists.
    ///
    /// - Returns: nil if no file is named and the default one does not exist.
    /// - Throws: `ConfigurationError` with all that is wrong with it.
    static func read(_ settings: Settings) throws(ConfigurationError) -> DeclaredMachine? {
        if let path = settings.text(.machine) { return try Self(path, settings) }
        // A file that exists but cannot be read is an error.
        let path = Self.defaultPaths(settings).first { (path: String) in access(path, F_OK) == 0 }
        return try path.map { (path) throws(ConfigurationError) in try Self(path, settings) }
    }

    /// The same at a reload, after which a file still has to declare the machine.
    ///
    /// - Throws: `ReloadRefusal` with all that is wrong with the file, or that it is gone.
    static func reread(_ settings: Settings) throws(ReloadRefusal) -> DeclaredMachine {
        let machine: DeclaredMachine?
        do {
            machine = try self.read(settings)
        } catch {
            throw ReloadRefusal(error.problems)
        }
        if let machine { return machine }
        let paths = Self.defaultPaths(settings).joined(separator: " and ")
        throw ReloadRefusal([
            "the file that declares the machine is gone; there is none at \(paths)"
        ])
    }

    private static func defaultPaths(_ settings: Settings) -> [String] {
        DeclarationFile.defaultPaths(instance: settings.text(.instance))
    }

    private init(_ path: String, _ settings: Settings) throws(ConfigurationError) {
        let file: DeclarationFile
        do {
            file = try DeclarationFile(path: path)
        } catch {
            throw ConfigurationError(error.sentence)
        }
        let directory = settings.text(.runtimeDirectory).map {
            [Link.Place.directory(RuntimeDirectory($0).withoutSlash.path)]
        }
        let reading = file.reading(
            accounts: .demanding,
            servedAt: Set([.instance(settings.text(.instance) ?? "-")] + (directory ?? []))
        )
        guard let declaration = reading.declaration else {
            throw ConfigurationError(
                reading.problems.filter { $0.severity == .error }.map { $0.line(in: path) }
            )
        }
        self.schema = declaration.schema
        self.warnings = reading.problems.map { $0.line(in: path) }
    }
}
