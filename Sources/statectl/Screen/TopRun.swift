import Dispatch
import Glibc
import Processes
import StateMachineClient

/// Shows machines on a screen until a key or a signal ends that.
struct TopRun: Sendable {
    /// What makes the screen show a new frame.
    private enum Event: Sendable {
        case news(Int, MachineFollowing.News)
        case key(UInt8)
        case signal(CInt)
        case second
        case keysEnded
    }

    /// The shortest time between two frames that only news calls for.
    private static let pause = Duration.milliseconds(50)

    let targets: [MachineTarget]
    let clients: [Client]

    /// Ends with `q`, or with a signal.
    func run(on screen: TerminalScreen) async throws {
        let (events, event) = AsyncStream.makeStream(of: Event.self)
        let tasks = self.sources(event)
        defer { for task in tasks { task.cancel() } }
        try screen.open()
        defer { screen.close() }
        var views = self.targets.map { MachineView($0) }
        var shown = ContinuousClock.now.advanced(by: .zero - Self.pause)
        for await event in events {
            switch event {
            case .news(let index, let news):
                let isPressing = news(&views[index])
                // The next second shows it too.
                guard isPressing || ContinuousClock.now - shown >= Self.pause else { continue }
            case .key(let key):
                guard ![UInt8(ascii: "q"), UInt8(ascii: "Q"), 3, 4].contains(key) else { return }
            case .keysEnded: return
            case .signal(SIGWINCH), .second: break
            case .signal(SIGTSTP):
                screen.close()
                raise(SIGSTOP)
                try screen.open()
            case .signal(SIGCONT): try screen.open()
            case .signal(let number): throw ProcessEnd.signal(number)
            }
            try screen.show(self.frame(screen).lines(views))
            shown = .now
        }
    }

    private func frame(_ screen: TerminalScreen) -> TopFrame {
        var text = self.targets[0].options.text
        let size = screen.size
        text.width = size.columns
        return TopFrame(text: text, size: size)
    }

    private func sources(_ event: AsyncStream<Event>.Continuation) -> [Task<Void, any Error>] {
        let followed = self.clients.enumerated().map { index, client in
            Task {
                do {
                    try await MachineFollowing(client: client).run { event.yield(.news(index, $0)) }
                } catch let error as ClientError {
                    event.yield(.news(index) { $0.failed(error.description) })
                }
            }
        }
        let signals = Signals.ending + [SIGHUP, SIGWINCH, SIGTSTP, SIGCONT]
        return followed + [
            Task {
                for await key in TerminalKeys.stream() { event.yield(.key(key)) }
                event.yield(.keysEnded)
            },
            Task {
                for await number in Signals.stream(signals) { event.yield(.signal(number)) }
            },
            Task {
                while true {
                    try await Task.sleep(for: .seconds(1))
                    event.yield(.second)
                }
            },
        ]
    }
}

/// The keys of a terminal, as they are pressed.
enum TerminalKeys {
    /// The bytes as they come; ends when the terminal does.
    static func stream() -> AsyncStream<UInt8> {
        AsyncStream { continuation in
            let source = DispatchSource.makeReadSource(
                fileDescriptor: STDIN_FILENO,
                queue: DispatchQueue(label: "statectl.keys")
            )
            source.setEventHandler {
                var buffer = [UInt8](repeating: 0, count: 64)
                let count = read(STDIN_FILENO, &buffer, buffer.count)
                guard count > 0 else { return continuation.finish() }
                for byte in buffer.prefix(count) { continuation.yield(byte) }
            }
            let held = Held(source)
            continuation.onTermination = { _ in held.cancel() }
            source.resume()
        }
    }

    /// A source that is only ever cancelled, which may be done from any thread; that makes `@unchecked Sendable` true.
    private final class Held: @unchecked Sendable {
        private let source: any DispatchSourceRead

        init(_ source: any DispatchSourceRead) { self.source = source }

        func cancel() { self.source.cancel() }
    }
}
