import StateMachineCore
import StateMachineProtocol

extension StateServer {
    /// Writes what whoever asks may set and send now, and what is against the rest.
    func writePossible(for client: Origin?, to writer: inout LineWriter) {
        self.voters.endOverdue()
        PossibleChanges(self, for: client).write(to: &writer)
    }
}

/// What a client may do where the machine is, as its requests would be judged there; no voter is asked.
///
/// Belongs to the event loop.
private struct PossibleChanges {
    /// How many voters are named that deny one thing.
    ///
    /// 2: some 400 states and events may have them, in one line. Not tuned.
    private static let votersNamed = 2

    /// What becomes of something that might be asked for.
    private enum Prospect {
        /// It leads there.
        case leads(to: String)
        case denied([any ShownVoter])
        case refused(WireError)
        /// Nothing changes.
        case nothing(isHandled: Bool)

        var isRefusal: Bool { if case .nothing = self { false } else { true } }
    }

    private let server: StateServer
    private let client: Origin?
    private let hasVoters: Bool
    private var place: Place { self.server.snapshot }

    init(_ server: StateServer, for client: Origin?) {
        self.server = server
        self.client = client
        self.hasVoters = server.machine.hasVoters
    }

    func write(to writer: inout LineWriter) {
        let schema = self.server.schema
        let legal = Set(self.place.value.successors(among: schema.names))
        writer.object("possible") { writer in
            writer.objects("set", schema.states) { writer, state in
                writer.string("state", state.name)
                let prospect =
                    self.server.objection(to: .set(state.name), from: self.client)
                    .map { .refused($0) }
                    ?? (legal.contains(state.name) ? self.prospect(ofSetting: state) : nil)
                    ?? .refused(.mayNotFollow(state.name, self.place.value.name))
                self.write([prospect], needs: state.neededFields, to: &writer)
            }
            guard let rules = schema.rules else { return }
            writer.objects("send", schema.events) { writer, event in
                writer.string("event", event.name)
                var (prospects, unmet) = ([Prospect](), [String]())
                do throws(WireError) {
                    let act = RestrictedAct.send(event.name)
                    if let objection = self.server.objection(to: act, from: self.client) {
                        throw objection
                    }
                    let outlook = try rules.outlook(
                        on: event.name,
                        at: self.place,
                        seeing: self.server.sight.now,
                        self.server.stays?.starts
                    )
                    prospects = outlook.ways.map { self.prospect(of: $0) }
                    unmet = outlook.unmet
                } catch {
                    prospects = [.refused(error)]
                }
                let needs = event.fields.filter(\.isNeeded).map(\.name)
                self.write(prospects, needs: needs, unmet: unmet, of: event, to: &writer)
            }
        }
    }

    private func prospect(ofSetting state: StateShape) -> Prospect {
        guard self.hasVoters, state.neededFields.isEmpty else {
            return self.prospect(ofAny: state.name)
        }
        do throws(WireError) {
            let schema = self.server.schema
            var value = try schema.codec.value(state, [], from: .request)
            if let rules = schema.rules { value = try rules.restated(value, at: self.place) }
            // What is there already changes nothing, and nobody is asked.
            return self.place.value.equals(value)
                ? .leads(to: state.name) : self.prospect(of: value, beginsStay: true)
        } catch {
            return .refused(error)
        }
    }

    private func prospect(of way: Outlook.Way) -> Prospect {
        switch way {
        case .refused(let error): .refused(error)
        case .leads(to: _, keep: true): .leads(to: "keep")
        case .leads(let state, keep: false): self.prospect(ofAny: state)
        case .made(.enter(let value)): self.prospect(of: value, beginsStay: true)
        case .made(.keep(let value)): self.prospect(of: value, beginsStay: false)
        case .made(.renew): .leads(to: "stay")
        case .made(.pass): .nothing(isHandled: true)
        case .made(.nothing(let why)): .nothing(isHandled: why != .unhandled)
        }
    }

    /// What becomes of a change to that state.
    private func prospect(of value: Value, beginsStay: Bool) -> Prospect {
        let name = beginsStay ? value.name : "keep"
        if beginsStay, let denial = self.denial(of: name) { return denial }
        guard self.hasVoters else { return .leads(to: name) }
        let motion = Motion(from: self.place, to: value, beginsStay: beginsStay)
        let states = self.server.states
        return self.prospect(
            of: name,
            at: states.buckets(of: motion),
            on: states.stretches(of: motion)
        ) { $0.isConcerned(by: motion) }
    }

    /// What a state requires and is not seen of other machines; nil if nothing is against it.
    private func denial(of state: String) -> Prospect? {
        guard let rules = self.server.schema.rules else { return nil }
        let denials = rules.requirements(ofState: state, at: self.place)
            .denials(of: state, seeing: self.server.sight.now)
        return denials.isEmpty ? nil : .refused(WireError(.denied, denials.lacks))
    }

    /// What becomes of a change to a state of that name, of which it is not known what it carries.
    private func prospect(ofAny state: String) -> Prospect {
        if let denial = self.denial(of: state) { return denial }
        guard self.hasVoters else { return .leads(to: state) }
        let numbers = self.server.states.buckets(ofAny: state)
        return self.prospect(of: state, at: numbers) { $0.isConcerned(byAny: state) }
    }

    /// What becomes of something about which those who stand there may have a say.
    private func prospect(
        of name: String,
        at numbers: [Int],
        on stretches: [Stretch] = [],
        where isConcerned: (any ShownVoter) -> Bool
    ) -> Prospect {
        // Most often one of the first denies it, and the others, who may be hundreds, are not looked for.
        for limit in [8, .max] {
            let found = self.server.machine.voters(at: numbers, on: stretches, atMost: limit)
            var named: [any ShownVoter] = []
            for one in found where named.count < Self.votersNamed {
                guard let voter = self.server.shown(one), voter.terms.isBlocking,
                    isConcerned(voter)
                else { continue }
                named.append(voter)
            }
            guard named.isEmpty else { return .denied(named) }
            if found.count < limit { break }
        }
        return .leads(to: name)
    }

    /// Writes whether one of them can be, else what is against them; `event` is what is sent.
    private func write(
        _ prospects: [Prospect],
        needs: [String],
        unmet: [String] = [],
        of event: EventShape? = nil,
        to writer: inout LineWriter
    ) {
        var targets: [String] = []
        for case .leads(let target) in prospects where !targets.contains(target) {
            targets.append(target)
        }
        var prospects = prospects
        if !targets.isEmpty, let trouble = self.server.sharing?.trouble {
            (targets, prospects) = ([], [.refused(WireError(.unavailable, trouble.sentence))])
        }
        writer.bool("ok", !targets.isEmpty)
        guard targets.isEmpty else {
            if !needs.isEmpty { writer.json("needs", .array(needs.map { .string($0) })) }
            if event != nil { writer.json("to", .array(targets.map { .string($0) })) }
            return
        }
        switch prospects.first(where: \.isRefusal) ?? prospects.first {
        case .refused(let error):
            writer.string("error", error.code.rawValue)
            writer.string("message", error.message)
            if let may = error.may { writer.json("may", .array(may.map { .string($0) })) }
        case .denied(let voters):
            let denials = Denials(
                voters.map(\.denial),
                and: voters,
                of: nil,
                at: self.server.sharing?.engine.host
            )
            writer.string("error", ErrorCode.denied.rawValue)
            writer.string("message", denials.message)
            denials.write(to: &writer, ownPeer: self.server.ownPeer)
        case .nothing(let isHandled): writer.bool("handled", isHandled)
        case .leads, nil: writer.bool("handled", false)
        }
        if !unmet.isEmpty { writer.json("unmet", .array(unmet.map { .string($0) })) }
    }
}

extension WireError {
    /// The refusal of a state that may not be set from that one.
    fileprivate static func mayNotFollow(_ next: String, _ present: String) -> WireError {
        WireError(.illegalTransition, "\(next.excerpt()) may not be set from \(present.excerpt())")
    }
}
