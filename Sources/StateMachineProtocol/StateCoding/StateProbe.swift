import FoundationEssentials
import StateMachineCore

/// Finds out what a case of an enum carries: a decoder that hands out made-up values and notes what
/// it was asked for.
final class StateProbe {
    /// How many combinations of values are tried for one case.
    ///
    /// 1024: five fields of four values each. Picked, not tuned.
    private static let combinationLimit = 1024

    /// How deeply made-up enums may be nested; one may contain itself.
    ///
    /// 4: deeper than states are. Not tuned.
    private static let depthLimit = 4

    /// What remains of the combination's number after each choice so far.
    private var rest: Int
    /// How many combinations the choices so far give.
    private var combinations = 1
    private var fields: [StateField] = []
    /// The optional field that is about to be decoded.
    private var optionalKey: String?
    private var form: JSONFieldType?
    /// A value to try for one field, and its type's objection.
    private let trial: JSONMember?
    private var objection: DecodingError?
    /// Whether the requested case exists.
    private(set) var isCase = false
    /// How many enums enclose the value being made up.
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
            // What one combination leaves out, or does not reach, another may show.
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

    /// The objection of a field's type to a value; also nil if the field is not reached.
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

    /// Records that the requested case exists.
    func noteCase() { self.isCase = true }

    /// Tries the trial value, if it is for that field.
    func evaluate<Value: Decodable>(_ type: Value.Type, for key: any CodingKey) {
        guard let trial = self.trial, trial.key == key.stringValue else { return }
        do {
            // The path begins with the state's name, which messages leave out.
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

    /// Which of `count` values this combination has.
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

    /// A value that decodes itself; for an enum the first case that can be made up, preferring
    /// those without values.
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

    /// Records that a field is optional, and returns whether it is nil in this combination.
    func isNil(_ key: String) -> Bool {
        self.optionalKey = key
        return self.choice(of: 2) == 1
    }

    func note<Value: Decodable>(_ key: String, _ type: Value.Type) {
        self.fields.append(
            StateField(
                key,
                type: Self.form(of: type),
                values: Self.values(of: type),
                isOptional: self.optionalKey == key
            )
        )
    }

    /// Records a value's JSON type; the first request decides.
    func note(form: JSONFieldType) {
        if self.form == nil { self.form = form }
    }

    /// All values of a type, if it lists them.
    private static func values(of type: any Decodable.Type) -> [JSONValue] {
        if type == Bool.self { return [.bool(false), .bool(true)] }
        let all = (type as? any CaseIterable.Type)?.everyCase ?? []
        return all.compactMap { value in
            // What cannot be encoded is not on the list.
            (value as? any Encodable).flatMap { try? JSONValue(encoding: $0) }
        }
    }

    /// The JSON type of a type's values.
    static func form<Value: Decodable>(of type: Value.Type) -> JSONFieldType {
        if let form = JSONFieldType(type) { return form }
        if let value = Self.values(of: type).first { return JSONFieldType(value) ?? .object }
        let probe = StateProbe(combination: 0)
        // Whether a value can be made up does not matter: its requests are recorded by then.
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
