import FoundationEssentials
import StateMachineCore

/// Finds out what a case of an enum carries: a decoder that hands out made-up values and notes what
/// it was asked for.
final class StateProbe {
    /// How many combinations of values are tried for one case.
    ///
    /// 1024: five fields of four values each. Picked, not tuned.
    private static let combinationLimit = 1024

    /// How deep enums are in one another that are made up; one may be inside itself.
    ///
    /// 4: deeper than states are. Not tuned.
    private static let depthLimit = 4

    /// What is left of the combination's number, each choice having taken its part.
    private var rest: Int
    /// How many combinations there are of what was chosen so far.
    private var combinations = 1
    private var fields: [StateField] = []
    /// The field that may be nil and is about to be asked for.
    private var optionalKey: String?
    private var form: JSONFieldType?
    /// A value to be tried for one field, and what its type had against it.
    private let trial: JSONMember?
    private var objection: DecodingError?
    /// Whether the case that was asked for is one.
    private(set) var isCase = false
    /// How many enums there are around what is made up.
    private var depth = 0

    private init(combination: Int, trial: JSONMember? = nil) {
        self.rest = combination
        self.trial = trial
    }

    /// The fields of a case, and a state for each combination of their values.
    ///
    /// Without a sample the case could not be made up, and the fields are those up to the one where
    /// it failed.
    static func probe<State: EnumState>(
        _ name: String,
        of type: State.Type
    ) -> (fields: [StateField], samples: [State]) {
        var fields: [StateField] = []
        var samples: [State] = []
        var combinations = 1
        var combination = 0
        while combination < combinations {
            let probe = StateProbe(combination: combination)
            // A combination that the state refuses has no sample.
            if let sample = try? State(from: ProbeDecoder(probe: probe, level: .state(name))) {
                samples.append(sample)
            }
            // What one combination leaves out, or does not come to, another may show.
            let known = Set(fields.map(\.key))
            fields += probe.fields.filter { !known.contains($0.key) }
            combinations = probe.combinations
            combination += 1
        }
        return (fields, samples)
    }

    /// Whether the enum has a case that is encoded under that name.
    static func isCase<State: EnumState>(_ name: String, of type: State.Type) -> Bool {
        let probe = StateProbe(combination: 0)
        // Whether the rest of it can be made up does not matter.
        _ = try? State(from: ProbeDecoder(probe: probe, level: .state(name)))
        return probe.isCase
    }

    /// What the type of a field has against a value; nil too if the field is not come to.
    static func objection<State: EnumState>(
        to member: JSONMember,
        in name: String,
        of type: State.Type
    ) -> DecodingError? {
        let probe = StateProbe(combination: 0, trial: member)
        // Whether the rest of the state can be made up does not matter.
        _ = try? State(from: ProbeDecoder(probe: probe, level: .state(name)))
        return probe.objection
    }

    /// Notes that there is a case of the name that was asked for.
    func noteCase() { self.isCase = true }

    /// Tries the value that is on trial, if it is for that field.
    func evaluate<Value: Decodable>(_ type: Value.Type, for key: any CodingKey) {
        guard let trial = self.trial, trial.key == key.stringValue else { return }
        do {
            // The path begins with the state's name, which is left out of messages.
            _ = try trial.value.decode(type, at: [key, key])
        } catch let error as DecodingError {
            self.objection = error
        } catch {
            let context = DecodingError.Context(
                codingPath: [key, key],
                debugDescription: "\(error)"
            )
            self.objection = .dataCorrupted(context)
        }
    }

    /// Which of so many values this combination has.
    private func choice(of count: Int) -> Int {
        defer {
            self.rest /= count
            self.combinations = min(self.combinations * count, Self.combinationLimit)
        }
        return self.rest % count
    }

    /// A made-up value of that type.
    func sample<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if let all = (type as? any CaseIterable.Type)?.everyCase, !all.isEmpty,
            let value = all[self.choice(of: all.count)] as? Value
        {
            return value
        }
        let made: Any? =
            switch type {
            case is Bool.Type: self.choice(of: 2) == 1
            case is String.Type: ""
            case let type as any FixedWidthInteger.Type: type.init(exactly: 0)
            case is Double.Type: Double(0)
            case is Float.Type: Float(0)
            case is Date.Type: Date(timeIntervalSince1970: 0)
            default: try self.whole(type)
            }
        guard let value = made as? Value else { throw ProbeError.cannotMakeUp }
        return value
    }

    /// A value that reads itself; of an enum the first case that can be made up, one without values if it can.
    private func whole<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard let names = EnumCases.names(of: type) else {
            return try Value(from: ProbeDecoder(probe: self, level: .value))
        }
        guard self.depth < Self.depthLimit else { throw ProbeError.cannotMakeUp }
        self.depth += 1
        defer { self.depth -= 1 }
        for name in names.reversed() {
            // The next one may do.
            if let value = try? Value(from: ProbeDecoder(probe: self, level: .case(name))) {
                return value
            }
        }
        throw ProbeError.cannotMakeUp
    }

    /// Notes that a field may be nil, and says whether it is in this combination.
    func isNil(_ key: String) -> Bool {
        self.optionalKey = key
        return self.choice(of: 2) == 1
    }

    func note<Value: Decodable>(_ key: String, _ type: Value.Type) {
        self.fields.append(
            StateField(
                key: key,
                type: Self.form(of: type),
                values: Self.values(of: type),
                isOptional: self.optionalKey == key
            )
        )
    }

    /// Notes what a value looks like in JSON; what it is asked for first decides.
    func note(form: JSONFieldType) {
        if self.form == nil { self.form = form }
    }

    /// All values of a type, if it lists them.
    private static func values(of type: any Decodable.Type) -> [JSONValue] {
        if type == Bool.self { return [.bool(false), .bool(true)] }
        let all = (type as? any CaseIterable.Type)?.everyCase ?? []
        return all.compactMap { value in
            // What does not encode is not on the list.
            (value as? any Encodable).flatMap { try? JSONValue(encoding: $0) }
        }
    }

    /// What values of a type look like in JSON.
    static func form<Value: Decodable>(of type: Value.Type) -> JSONFieldType {
        if let form = JSONFieldType(type) { return form }
        if let value = Self.values(of: type).first { return JSONFieldType(value) ?? .object }
        let probe = StateProbe(combination: 0)
        // Whether a value can be made up does not matter: what it asks for is noted by then.
        _ = try? Value(from: ProbeDecoder(probe: probe, level: .value))
        return probe.form ?? .object
    }
}

enum ProbeError: Error {
    case cannotMakeUp
}

extension CaseIterable {
    fileprivate static var everyCase: [Any] { Array(self.allCases) }
}
