import StateMachineCore
import StateMachineProtocol

/// What declares the machine becomes another while it is served.
///
/// What is in force is the declaration that the machine's own state leads to: it is replaced at the gate, in
/// order with all that is proposed, and what has been asked for as the states were is evaluated at its turn as they
/// are then. Here follows what only the event loop sees: what requests are read by, and what was made of it.
extension ServedMachine {
    /// Why what declares the machine stays as it was.
    struct NotRedeclared: Error {
        let sentence: String
    }

    /// Puts another declaration in force, with the present state carried over; told when it is, or why it is
    /// not and everything stays.
    func redeclare(
        _ schema: any Schema,
        done: @escaping @Sendable (Result<UInt64, NotRedeclared>) -> Void
    ) {
        self.server?.expect(schema.described)
        self.machine.recast(
            cause: schema.declaration?.cause,
            in: self.decisions,
            { [isKept = self.machine.history != nil] in
                schema.recast($0.value, isKept: isKept)
            },
            completion: { outcome in
                defer { self.server?.expect(nil) }
                switch outcome {
                case .same(let place):
                    self.redeclared(by: schema, at: place)
                    done(.success(place.seq))
                case .changed(let change):
                    self.redeclared(by: schema, at: change.place)
                    done(.success(change.seq))
                case .impossible(let why): done(.failure(NotRedeclared(sentence: why)))
                case .failed(let refused):
                    done(.failure(NotRedeclared(sentence: refused.sentence)))
                }
            }
        )
    }

    private func redeclared(by schema: any Schema, at place: Place) {
        self.use(schema)
        self.cursor?.catchUp()
        self.stays?.redeclared(place)
        guard let declaration = schema.declaration else { return }
        self.server?.redeclared(declaration, at: self.encoded(place))
    }

    /// Whether a state is of another declaration than the machine is.
    func isOutdated(_ value: Value, at place: Place) -> Bool {
        self.states.declaration(of: value) !== self.states.declaration(of: place.value)
    }
}

extension Refused {
    /// Why another declaration could not be put in force.
    fileprivate var sentence: String {
        guard case .notCommitted(let why) = self.reason else { return "\(self)" }
        return "the change that it makes could not be made durable: \(why)"
    }
}

extension Schema {
    /// What becomes of a state of another declaration; `isKept` says whether the next start goes on with it.
    fileprivate func recast(_ value: Value, isKept: Bool) -> Recast {
        do {
            let data = self.encoded(value).data.members ?? []
            let carried = try self.carried(value.name, data: data)
            let isSame = self.encoded(carried).fragment == self.encoded(value).fragment
            return isSame ? .same(carried) : .changed(carried)
        } catch {
            guard isKept else { return .impossible(error.sentence) }
            let start =
                self.lost.map {
                    "\"lost\" applies at a start only, which would lead to \($0.name)"
                }
                ?? "the next start would fail the same way, unless the file says with \"lost: STATE\" where to go"
            return .impossible("\(error.sentence); \(start)")
        }
    }
}
