import NIOCore
import StateMachineProtocol

/// What a client has sent and was not dealt with, and whether more is read.
///
/// Belongs to the event loop; see ``StateServer`` for the exclusivity of its variables.
final class RequestReader {
    private let channel: any Channel

    @exclusivity(unchecked) private var inbound = InboundLines()
    /// A request whose turn has not come: sets before it are answered first, or there was no time for it.
    @exclusivity(unchecked) private var deferred: [UInt8]?
    @exclusivity(unchecked) private var isReading = true
    /// Whether requests wait until everybody has been written to.
    @exclusivity(unchecked) private(set) var isPaused = false
    /// Whether the client has ended its side.
    @exclusivity(unchecked) private(set) var hasSeenEnd = false

    init(_ channel: any Channel) {
        self.channel = channel
    }

    // MARK: - Lines

    /// The next request.
    enum Next {
        /// Where it lies, without its newline.
        case line(ByteBuffer)
        /// One that was deferred.
        case deferred([UInt8])
        /// None that is whole.
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

    /// Has a request come again before all others.
    func putOff(_ line: [UInt8]) { self.deferred = line }

    /// Nothing that the client sends matters any more.
    func clear() {
        self.inbound.clear()
        self.deferred = nil
    }

    /// The client has ended its side.
    func sawEnd() { self.hasSeenEnd = true }

    var hasDeferred: Bool { self.deferred != nil }

    /// Whether there is a request.
    var hasRequest: Bool { self.hasDeferred || self.inbound.hasLine }

    /// Whether there may be a request that was not looked at.
    var hasUnseen: Bool { self.hasDeferred || self.inbound.hasUnseen }

    /// Whether the last line has begun, and not ended.
    var hasBytes: Bool { self.inbound.hasBytes }

    // MARK: - Back-pressure

    /// Requests wait until everybody has been written to.
    func pause() { self.isPaused = true }

    /// They wait no longer; returns whether they did.
    func resume() -> Bool { exchange(&self.isPaused, with: false) }

    /// Whether there may be a request that was not looked at, and that waits for nobody to be written to.
    var hasUnserved: Bool { !self.isPaused && self.hasUnseen }

    /// Whether the client is not read.
    var isStopped: Bool { !self.isReading }

    /// Reads the client, or stops reading it.
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

    /// What a client may send while it waits for its turn, in bytes; past it it is not read.
    ///
    /// 4 KiB: some tens of requests, so that who sends few is not read off and on. Not tuned.
    private static var unservedBytes: Int { 4096 }

    // MARK: - From one process to the next

    /// What was not dealt with.
    func handOver(to record: inout HandOverRecord.Connection) {
        let deferred = self.deferred.map { $0 + [UInt8(ascii: "\n")] } ?? []
        record.input.append(contentsOf: deferred + self.inbound.bytes)
    }

    /// Goes on with what the last process did not deal with.
    func resume(with record: HandOverRecord.Connection) {
        self.append(ByteBuffer(bytes: record.input))
    }
}
