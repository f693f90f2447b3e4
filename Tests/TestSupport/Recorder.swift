import Foundation

/// What has been heard, in order, from any thread; tests wait for it instead of sleeping.
///
/// `@unchecked Sendable`: `lock` guards the elements and those who wait.
public final class Recorder<Element: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var elements: [Element] = []
    private var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    /// Nothing heard.
    public init() {}

    /// What has been heard so far.
    public var heard: [Element] { self.lock.withLock { self.elements } }

    /// Adds to it.
    public func record(_ element: Element) {
        let ready = self.lock.withLock {
            self.elements.append(element)
            let count = self.elements.count
            let ready = self.waiters.filter { $0.count <= count }
            self.waiters.removeAll { $0.count <= count }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    /// Waits until that many have been heard, and returns all of them.
    @discardableResult
    public func wait(for count: Int) async -> [Element] {
        await withCheckedContinuation { continuation in
            let isReady = self.lock.withLock {
                if self.elements.count >= count { return true }
                self.waiters.append((count, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
        return self.heard
    }
}
