#if Cluster
package import NIOCore
import StateMachineCore
import StateMachineProtocol

/// Keeps one connection to the engine, whichever member it is to.
///
/// What it tells, it tells on its event loop. Guarded state: ``performer``, which belongs to that loop.
package final class EtcdClient: Sendable {
    package enum News: Sendable {
        /// Calls go there from now on; a quorum has just answered this.
        case up(EtcdConnection, RangeRequest.Answer)
        /// There is no connection; for each member why, where that is known.
        case down([ConnectionTrouble])
    }

    private let loop: any EventLoop
    private let performer: NIOLoopBoundBox<Performer>

    /// - Parameters:
    ///   - endpoints: at least one.
    ///   - credentials: needed if one of them is encrypted.
    ///   - probe: what each member is asked; it has to read as a quorum does.
    ///   - limit: how long connecting, and the answer, may take each.
    ///   - loop: where everything of it happens.
    ///   - tell: called there.
    package init(
        _ endpoints: [EtcdEndpoint],
        _ credentials: EtcdCredentials?,
        probe: RangeRequest,
        within limit: Duration,
        on loop: any EventLoop,
        tell: @escaping @Sendable (News) -> Void
    ) {
        self.loop = loop
        self.performer = .makeBoxSendingValue(
            Performer(endpoints, credentials, probe, limit, loop, tell),
            eventLoop: loop
        )
        self.onLoop { $0.perform(.begun) }
    }

    /// Says that a connection is of no use, since calls there are not answered, so that another is looked for.
    ///
    /// One that is no longer used is passed over.
    package func abandon(_ connection: EtcdConnection, because why: String) {
        self.onLoop { $0.abandon(connection, ConnectionTrouble(why)) }
    }

    /// Connects anew with other credentials.
    package func use(_ credentials: EtcdCredentials) { self.onLoop { $0.use(credentials) } }

    /// Ends it; nothing is told any more.
    package func stop() { self.onLoop { $0.stop() } }

    private func onLoop(_ body: @escaping @Sendable (Performer) -> Void) {
        self.loop.execute { body(self.performer.value) }
    }
}

/// Does what the endpoints decide.
///
/// Belongs to its event loop.
private final class Performer {
    private enum Standing {
        case connecting
        case asked(EtcdConnection)
        case answered(EtcdConnection, RangeRequest.Answer)

        var connection: EtcdConnection? {
            switch self {
            case .connecting: nil
            case .asked(let connection), .answered(let connection, _): connection
            }
        }
    }

    private let endpoints: [EtcdEndpoint]
    private var credentials: EtcdCredentials?
    private let request: RangeRequest
    private let limit: Duration
    private let loop: any EventLoop
    private let tell: @Sendable (EtcdClient.News) -> Void
    private var decisions: Endpoints
    private var generator = SystemRandomNumberGenerator()
    /// Those that are probed, and the one that is used.
    private var attempts: [Endpoints.Attempt: Standing] = [:]
    private var isStopped = false

    init(
        _ endpoints: [EtcdEndpoint],
        _ credentials: EtcdCredentials?,
        _ request: RangeRequest,
        _ limit: Duration,
        _ loop: any EventLoop,
        _ tell: @escaping @Sendable (EtcdClient.News) -> Void
    ) {
        (self.endpoints, self.credentials, self.request) = (endpoints, credentials, request)
        (self.limit, self.loop, self.tell) = (limit, loop, tell)
        self.decisions = Endpoints(count: endpoints.count)
    }

    func perform(_ event: Endpoints.Event) {
        guard !self.isStopped else { return }
        for action in self.decisions.thisHappened(event, using: &self.generator) {
            switch action {
            case .probe(let attempt): self.probe(attempt)
            case .drop(let attempt): self.attempts.removeValue(forKey: attempt)?.connection?.leave()
            case .pause(let attempt, let pause): self.perform(.paused(attempt), in: pause)
            case .wait(let attempt, let time): self.perform(.stood(attempt), in: time)
            case .use(let attempt):
                guard case .answered(let connection, let answer)? = self.attempts[attempt] else {
                    continue
                }
                self.tell(.up(connection, answer))
            case .report(let troubles): self.tell(.down(troubles))
            }
        }
    }

    private func perform(_ event: Endpoints.Event, in time: Duration) {
        self.loop.assumeIsolated().scheduleTask(in: TimeAmount(time)) { self.perform(event) }
    }

    private func probe(_ attempt: Endpoints.Attempt) {
        self.attempts[attempt] = .connecting
        let endpoint = self.endpoints[attempt.endpoint]
        EtcdConnection.open(endpoint, self.credentials, on: self.loop, within: self.limit)
            .assumeIsolated()
            .whenComplete { result in
                switch result {
                case .success(let connection): self.ask(connection, attempt)
                case .failure(let error):
                    self.perform(
                        .failed(
                            attempt,
                            error as? ConnectionTrouble ?? ConnectionTrouble("\(error)")
                        )
                    )
                }
            }
    }

    private func ask(_ connection: EtcdConnection, _ attempt: Endpoints.Attempt) {
        guard self.attempts[attempt] != nil else { return connection.close() }
        self.attempts[attempt] = .asked(connection)
        connection.ended.assumeIsolated().whenSuccess { self.perform(.lost(attempt, $0)) }
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        connection.call(self.request, within: self.limit) { outcome in
            bound.value.answered(attempt, connection, outcome)
        }
    }

    private func answered(
        _ attempt: Endpoints.Attempt,
        _ connection: EtcdConnection,
        _ outcome: Outcome<RangeRequest.Answer>
    ) {
        guard self.attempts[attempt] != nil else { return }
        switch outcome {
        case .answered(let answer):
            self.attempts[attempt] = .answered(connection, answer)
            self.perform(.answered(attempt))
        case .refused(let refusal):
            let reason: SharingTrouble? = refusal.kind == .permission ? .permission : nil
            let trouble = ConnectionTrouble("\(connection.endpoint): \(refusal)", reason)
            self.perform(.failed(attempt, trouble))
        case .unknown(let doubt):
            let reason = connection.trouble?.reason
            let trouble = ConnectionTrouble("\(connection.endpoint): \(doubt)", reason)
            self.perform(.failed(attempt, trouble))
        }
    }

    func abandon(_ connection: EtcdConnection, _ why: ConnectionTrouble) {
        guard let attempt = self.attempts.first(where: { $1.connection === connection })?.key else {
            return
        }
        self.perform(.lost(attempt, why))
    }

    func use(_ credentials: EtcdCredentials) {
        self.credentials = credentials
        for case .answered(let connection, _) in self.attempts.values {
            self.abandon(connection, "the credentials have changed")
        }
    }

    func stop() {
        self.isStopped = true
        for standing in self.attempts.values { standing.connection?.close() }
        self.attempts = [:]
    }
}
#endif
