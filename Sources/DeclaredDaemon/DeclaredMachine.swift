import Glibc
import StateMachineDeclaration
package import StateMachineEmbedding
package import StateMachineProtocol
package import StateMachineServer

/// The machine that a file declares.
package struct DeclaredMachine {
    package let schema: Schema
    /// Warnings of what may not do what was meant: `FILE:LINE:COLUMN: sentence`.
    package let warnings: [String]
    /// Why several hosts cannot share it, one sentence each.
    package let sharingObjections: [String]
    /// What of it does not happen where several hosts share it, one sentence each.
    package let sharingWarnings: [String]

    /// Reads the named file, or the default one if it exists.
    ///
    /// - Returns: nil if no file is named and the default one does not exist.
    /// - Throws: `ConfigurationError` with all that is wrong with it.
    package static func read(_ settings: Settings) throws(ConfigurationError) -> DeclaredMachine? {
        if let path = settings.text(.machine) { return try Self(path, settings) }
        // A file that exists but cannot be read is an error.
        let path = Self.defaultPaths(settings).first { (path: String) in access(path, F_OK) == 0 }
        return try path.map { (path) throws(ConfigurationError) in try Self(path, settings) }
    }

    /// The same at a reload, after which a file still has to declare the machine.
    ///
    /// - Throws: `ReloadRefusal` with all that is wrong with the file, or that it is gone.
    package static func reread(_ settings: Settings) throws(ReloadRefusal) -> DeclaredMachine {
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
        self.sharingObjections = declaration.sharingObjections.map { "\(path): \($0)" }
        self.sharingWarnings = declaration.sharingWarnings.map { "\(path): \($0)" }
    }
}

extension Declaration {
    /// What it has that a machine cannot have yet which several hosts share, one sentence each: each host would do it.
    fileprivate var sharingObjections: [String] {
        let hint = "a machine that several hosts share cannot have that yet"
        return [
            self.names { !$0.commands.isEmpty }.map { "\($0) has run, enter or leave: \(hint)" },
            self.links.isEmpty
                ? nil
                : "it sees \(self.links.map(\.name).joined(separator: ", ")): \(hint)",
        ].compactMap(\.self)
    }

    /// What it has that never happens to a machine that several hosts share, one sentence each.
    fileprivate var sharingWarnings: [String] {
        self.names { $0.boot != nil }.map {
            ["\($0) has boot: that never happens where several hosts share the machine"]
        } ?? []
    }

    /// The names of those states; nil if there are none.
    private func names(_ isMeant: (StateDeclaration) -> Bool) -> String? {
        let names = self.states.filter(isMeant).map(\.name)
        return names.isEmpty ? nil : names.joined(separator: ", ")
    }
}
