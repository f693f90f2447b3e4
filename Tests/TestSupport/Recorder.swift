import Foundation

/// Records what is heard, in order, from any thread; tests wait for it instead of sleeping.
///
/// `@unchecked Sendable`: `lock` guards the elements and the waiters.
public final class Recorder<Element: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var elements: [Element] = []
    private var waiters:
        [(isMet: ([Element]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []

    /// Begins with nothing heard.
    public init() {}

    /// Everything heard so far.
    public var heard: [Element] { self.lock.withLock { self.elements } }

    /// Adds an element.
    public func record(_ element: Element) {
        let ready = self.lock.withLock {
            self.elements.append(element)
            let ready = self.waiters.filter { $0.isMet(self.elements) }
            if !ready.isEmpty { self.waiters.removeAll { $0.isMet(self.elements) } }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    /// Waits until that many have been heard, and returns all of them.
    @discardableResult
    public func wait(for count: Int) async -> [Element] {
        await self.wait { $0.count >= count }
    }

    /// Waits until the elements satisfy `isMet`, and returns them.
    @discardableResult
    public func wait(until isMet: @escaping @Sendable ([Element]) -> Bool) async -> [Element] {
        await withCheckedContinuation { continuation in
            let isReady = self.lock.withLock {
                if isMet(self.elements) { return true }
                self.waiters.append((isMet, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
        return self.heard
    }
}
