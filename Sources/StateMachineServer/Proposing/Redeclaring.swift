import StateMachineCore
import StateMachineProtocol

/// What declares the machine becomes another while it is served.
///
/// What is in force is the declaration that the machine's own state leads to: it is replaced at the gate, in
/// order with all that is proposed, and what has been asked for as the states were is evaluated at its turn as they
/// are then. Here follows what only the event loop sees: what requests are read by, and what was made of it.
extension StateServer {
    /// Puts another declaration in force, with the present state carried over; told when it is, or why it is
    /// not and everything stays.
    func redeclare(
        _ schema: Schema,
        done: @escaping @Sendable (Result<UInt64, ReloadRefusal>) -> Void
    ) {
        self.voters.expect(schema)
        self.links?.expect(schema)
        for client in self.clients { client.readCredentials() }
        let isKept = self.past.disk != nil
        self.machine.propose(
            Move(
                to: .recast { (place) throws(Refused) in
                    do throws(ReloadRefusal) {
                        return try schema.recast(place, isKept: isKept)
                    } catch {
                        throw Refused(.illegal, current: place, because: error)
                    }
                },
                cause: schema.declaration?.cause
            ),
            asking: nil,
            at: self.cursor,
            isLimited: false
        ) { answer in
            defer { self.voters.expect(nil) }
            switch answer {
            case .success(let outcome):
                self.redeclared(schema, at: outcome.place)
                done(.success(outcome.place.seq))
            case .failure(let refused):
                let sentence: String =
                    switch refused.reason {
                    case .notCommitted(let why): Refusal.notRecorded(why)
                    default: "\(refused)"
                    }
                let error = refused.error as? ReloadRefusal
                self.links?.expect(nil)
                done(.failure(error ?? ReloadRefusal([sentence])))
            }
        }
    }
}

extension Schema {
    /// The state as this declaration has it; `isKept` says whether the next start goes on with it.
    fileprivate func recast(
        _ place: Place,
        isKept: Bool
    ) throws(ReloadRefusal) -> (value: Value, looksSame: Bool) {
        let value = place.value
        let data = self.encoded(value).data.members ?? []
        do {
            var carried = try self.carried(value.name, data: data)
            if let rules = self.rules {
                carried = rules.knowing(rules.times(of: value), carried, in: place.stay)
            }
            return (carried, self.encoded(carried).fragment == self.encoded(value).fragment)
        } catch {
            guard isKept else { throw ReloadRefusal([error.sentence]) }
            let start =
                self.lost(data).map {
                    "\"lost\" applies only at a start, and would lead to \($0.name)"
                }
                ?? "the next start would fail too; write \"lost: STATE\" in the file for where to go then"
            throw ReloadRefusal(["\(error.sentence); \(start)"])
        }
    }
}
