import NIOCore
import StateMachineProtocol

/// A client's input that was not dealt with, and whether more is read.
///
/// Belongs to the event loop.
final class RequestReader {
    private let channel: any Channel

    private var inbound = InboundLines()
    /// A request whose turn has not come: sets before it are answered first, or there was no time for it.
    private var deferred: [UInt8]?
    private var isReading = true
    /// Whether requests wait until everybody has been written to.
    private(set) var isPaused = false
    /// Whether the client has ended its side.
    private(set) var hasSeenEnd = false

    init(_ channel: any Channel) {
        self.channel = channel
    }

    // MARK: - Lines

    /// The next request.
    enum Next {
        /// A line in place, without its newline.
        case line(ByteBuffer)
        /// One that was deferred.
        case deferred([UInt8])
        /// No request is complete.
        case none
        /// Longer than a line may be.
        case tooLong
    }

    func append(_ bytes: ByteBuffer) { self.inbound.append(bytes) }

    /// Takes the next request.
    func next() -> Next {
        if let line = self.deferred.take() { return .deferred(line) }
        switch self.inbound.next() {
        case .line(let line): return .line(line)
        case .none: return .none
        case .tooLong:
            self.clear()
            return .tooLong
        }
    }

    /// Puts a request back, to come again before all others.
    func putOff(_ line: [UInt8]) { self.deferred = line }

    /// Drops all input: nothing that the client sends matters any more.
    func clear() {
        self.inbound.clear()
        self.deferred = nil
    }

    /// The client has ended its side.
    func sawEnd() { self.hasSeenEnd = true }

    var hasDeferred: Bool { self.deferred != nil }

    /// Whether there is a request.
    var hasRequest: Bool { self.hasDeferred || self.inbound.hasLine }

    /// Whether there may be a request that was not examined.
    var hasUnseen: Bool { self.hasDeferred || self.inbound.hasUnseen }

    /// Whether a line has begun and not ended.
    var hasBytes: Bool { self.inbound.hasBytes }

    // MARK: - Back-pressure

    /// Makes requests wait until everybody has been written to.
    func pause() { self.isPaused = true }

    /// Ends that wait; returns whether requests were waiting.
    func resume() -> Bool { exchange(&self.isPaused, with: false) }

    /// Whether there may be a request that was not examined and does not wait for readers.
    var hasUnserved: Bool { !self.isPaused && self.hasUnseen }

    /// Whether the client is not being read.
    var isStopped: Bool { !self.isReading }

    /// Starts or stops reading the client.
    func read(_ isReading: Bool) {
        guard isReading != self.isReading else { return }
        self.isReading = isReading
        self.channel.setOption(.autoRead, value: isReading)
            .assumeIsolated()
            .whenFailure { _ in
                // The channel is closed; there is nothing more to read.
            }
    }

    /// Stops reading a client that has to wait for its turn, if it has sent much.
    func stopIfFull() {
        if self.inbound.count > Self.unservedBytes { self.read(false) }
    }

    /// What a client may send while it waits for its turn, in bytes; beyond that it is not read.
    ///
    /// 4 KiB: some tens of requests, so that reading does not stop and start for a client that
    /// sends few. Not tuned.
    private static var unservedBytes: Int { 4096 }

    // MARK: - From one process to the next

    /// Records the input that was not dealt with.
    func handOver(to record: inout HandOverRecord.Connection) {
        let deferred = self.deferred.map { $0 + [UInt8(ascii: "\n")] } ?? []
        record.input.append(contentsOf: deferred + self.inbound.bytes)
    }

    /// Takes over the input that the last process did not deal with.
    func resume(with record: HandOverRecord.Connection) {
        self.append(ByteBuffer(bytes: record.input))
    }
}
