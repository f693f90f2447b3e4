import Processes
package import StateMachineProtocol
import SystemPackage

/// A file that declares a machine, as it lies on the disk.
public struct DeclarationFile: Sendable {
    /// The file cannot be read at all.
    public struct Unreadable: Error, Sendable {
        /// Which file, and why.
        public let sentence: String
    }

    /// Its path, as it was given.
    public let path: String
    /// Its content; of a file that is too long, one byte more than the limit.
    public let bytes: [UInt8]
    /// Who could have put another file in its place; nil: only root and this user.
    private let exposure: FileWay.Exposure?

    /// Where a machine's file is looked for; the first that exists counts.
    ///
    /// - Parameter instance: its name; nil for the unnamed one.
    /// - Returns: what the administrator wrote, then what came with a package.
    public static func defaultPaths(instance: String?) -> [String] {
        let name = instance.map { "\($0).machine.yaml" } ?? "machine.yaml"
        return ["/etc/statemachine/\(name)", "/usr/lib/statemachine/\(name)"]
    }

    /// Reads a file.
    public init(path: String) throws(Unreadable) {
        self.path = path
        var way = FileWay()
        do {
            let file = try way.open(path)
            self.bytes = try file.closeAfter {
                try file.bytes(atMost: DeclarationReading.maxBytes + 1)
            }
        } catch let error as FileWay.NoFile {
            throw Unreadable(
                sentence: "\(path) is \(error.kind), not a file that declares a machine"
            )
        } catch {
            throw Unreadable(sentence: "cannot read \(path): \(error)")
        }
        self.exposure = way.exposure
    }

    /// The instance whose file has such a name; nil if it is none of a particular one.
    private var instance: String? {
        let name = FilePath(self.path).lastComponent?.string ?? ""
        return name.hasSuffix(".machine.yaml") ? String(name.dropLast(".machine.yaml".count)) : nil
    }

    /// What it says, or what is wrong with it; for those who run its commands, which are refused if
    /// somebody else could have written them.
    public var reading: DeclarationReading { self.reading(accounts: .none) }

    /// The same for those who say who may do what, with what is made of the users and groups that it names.
    public func reading(accounts: AccountLookup) -> DeclarationReading {
        self.reading(accounts: accounts, servedAt: [])
    }

    /// The same for a daemon that is found at those places, to which no link may lead.
    package func reading(
        accounts: AccountLookup,
        servedAt places: Set<Link.Place>
    ) -> DeclarationReading {
        DeclarationReading(
            self.bytes,
            refusingCommands: self.exposure.map {
                "\($0.fact); commands are refused until you \($0.remedy)"
            },
            accounts: accounts,
            servedAt: places
        )
    }

    /// The same for an author: a warning says that commands are refused, and if `isStrict` others
    /// are about matters of choice.
    public func checked(isStrict: Bool) -> DeclarationReading {
        DeclarationReading(
            self.bytes,
            warningOfCommands: self.exposure.map {
                "\($0.fact); the daemon and the runner refuse its commands until you \($0.remedy)"
            },
            isStrict: isStrict,
            accounts: .warning,
            servedAt: self.instance.map { [.instance($0)] } ?? []
        )
    }
}
