import Foundation
import TestSupport
import Testing

/// What the compiler enforces: each program compiles as it is, and does not with one line changed.
@Suite(.bounded) struct CompileTimeTests {
    private static let broadcaster = """
        import StateMachineCore
        protocol Watching: AnyObject, Sendable { func appeared(_ enemy: String) }
        final class Lookout {
            private let watchers = MulticastDelegate<any Watching>()
            func admit(_ watcher: some Watching) -> Registration {
                self.watchers.add(watcher, on: .immediate)
            }
            func sight(_ enemy: String) {
                self.watchers.broadcast((any Watching).self) { $0.appeared(enemy) }
            }
        }
        final class Radar: Watching { func appeared(_ enemy: String) {} }
        let lookout = Lookout()
        let radar = Radar()
        """

    private static let application = """
        import StateMachineCore
        extension AppState: @retroactive ApplicationState {
            public static let machine = StateMachine<AppState>()
        }
        final class Screen: StateDelegate {
            func stateChanged(_ transition: Transition<AppState>) {}
        }
        let screen = Screen()
        """

    @Test func onlyTheOwnerSends() async throws {
        try await Self.expect(
            Self.broadcaster,
            compilesWith: "_ = lookout.admit(radar); lookout.sight(\"dragon\")",
            butNotWith: "lookout.watchers.broadcast((any Watching).self) { $0.appeared(\"x\") }",
            saying: "'watchers' is inaccessible due to 'private' protection level"
        )
    }

    @Test func aRegistrationCannotSend() async throws {
        try await Self.expect(
            Self.broadcaster,
            compilesWith: "lookout.admit(radar).cancel()",
            butNotWith: "lookout.admit(radar).broadcast((any Watching).self) { _ in }",
            saying: "value of type 'Registration' has no member 'broadcast'"
        )
    }

    @Test(arguments: [
        "onEnter(NAME) { _ in }", "onExit(NAME) { _ in }", "during(NAME) { _ in }",
        "after(.seconds(1), in: NAME) { $0 }",
    ])
    func workOfNoStateDoesNotCompile(call: String) async throws {
        try await Self.expect(
            Self.application,
            compilesWith: "AppState.machine.\(call.replacing("NAME", with: ".ready"))",
            butNotWith: "AppState.machine."
                + call.replacing("(NAME)", with: "").replacing(", in: NAME", with: ""),
            saying: "missing argument"
        )
    }

    @Test func aMisspeltMethodDoesNotCompile() async throws {
        try await Self.expect(
            Self.broadcaster,
            compilesWith: "final class Owl: Watching { func appeared(_ enemy: String) {} }",
            butNotWith: "final class Owl: Watching { func apeared(_ enemy: String) {} }",
            saying: "type 'Owl' does not conform to protocol 'Watching'"
        )
    }

    @Test func aMisspeltMessageDoesNotCompile() async throws {
        try await Self.expect(
            Self.broadcaster,
            compilesWith: "MulticastDelegate<AnyObject>()"
                + ".broadcast((any Watching).self) { $0.appeared(\"x\") }",
            butNotWith: "MulticastDelegate<AnyObject>()"
                + ".broadcast((any Watching).self) { $0.apeared(\"x\") }",
            saying: "value of type 'any Watching' has no member 'apeared'"
        )
    }

    @Test(arguments: ["machine.holder", "holder", "drains", "delegates", "members"])
    func theListOfDelegatesIsPrivate(_ name: String) async throws {
        try await Self.expect(
            Self.application,
            compilesWith: "AppState.machine.addDelegate(screen)",
            butNotWith: "_ = AppState.machine.\(name)",
            saying: name == "machine.holder"
                ? "'machine' is inaccessible due to 'package' protection level"
                : "has no member '\(name)'"
        )
    }

    /// An earlier form of the pattern had a single delegate, set like a property.
    @Test func thereIsNoDelegateToSet() async throws {
        try await Self.expect(
            Self.application,
            compilesWith: "AppState.machine.addDelegate(screen)",
            butNotWith: "AppState.delegate = screen",
            saying: "type 'AppState' has no member 'delegate'"
        )
    }

    /// If it could conform on its actor only, it would be skipped silently elsewhere.
    @Test func aConformanceThatHoldsOnOneActorOnlyDoesNotCompile() async throws {
        let screen = "@MainActor final class Screen:"
        try await Self.expect(
            Self.broadcaster,
            compilesWith: "\(screen) Watching { nonisolated func appeared(_ enemy: String) {} }",
            butNotWith: "\(screen) @MainActor Watching { func appeared(_ enemy: String) {} }",
            saying: "annot form main actor-isolated conformance"
        )
        let facet = """

            protocol Seeing: AnyObject { func saw(_ enemy: String) }
            @MainActor final class Mirror: @MainActor Seeing { func saw(_ enemy: String) {} }
            let all = MulticastDelegate<AnyObject>()

            """
        try await Self.expect(
            Self.broadcaster + facet,
            compilesWith: "all.broadcast((any Watching).self) { $0.appeared(\"x\") }",
            butNotWith: "all.broadcast((any Seeing).self) { $0.saw(\"x\") }",
            saying: "does not conform to the 'Sendable' protocol"
        )
    }

    @Test func aDelegateOfAnotherStateDoesNotCompile() async throws {
        let other = """

            enum Lamp: String, EnumState {
                case off, on
                enum Name: String, CaseIterable { case off, on }
                static var initial: Lamp { .off }
                static var examples: [Lamp] { [.off, .on] }
            }

            """
        try await Self.expect(
            Self.application + other,
            compilesWith: "AppState.machine.addDelegate(screen)",
            butNotWith: "StateMachine<Lamp>().addDelegate(screen)",
            saying: "Lamp"
        )
    }

    private static func expect(
        _ program: String,
        compilesWith good: String,
        butNotWith bad: String,
        saying complaint: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let accepted = try await Self.errors(in: program + "\n" + good)
        #expect(accepted == "", sourceLocation: sourceLocation)
        let refused = try await Self.errors(in: program + "\n" + bad)
        #expect(
            refused.contains("error: ") && refused.contains(complaint),
            "\(refused)",
            sourceLocation: sourceLocation
        )
    }

    /// The compiler's errors for a program that imports the core as built beside the tests.
    private static func errors(in program: String) async throws -> String {
        let modules = try URL(filePath: BuiltProduct.directory).appending(path: "Modules").path
        let linux = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/CPlatform/module.modulemap").path
        return try await withTemporaryDirectory { directory in
            let main = "\(directory)/main.swift"
            try program.write(toFile: main, atomically: false, encoding: .utf8)
            return try await diagnostics(
                of: main,
                options: ["-I", modules, "-Xcc", "-fmodule-map-file=\(linux)"]
            )
        }
    }
}
