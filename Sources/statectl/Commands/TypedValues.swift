import ArgumentParser
import StateMachineClient

/// Fields as they are typed after a command: words, or all of them as one object.
struct TypedValues: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "All values as one JSON object; - reads it from standard input.",
            valueName: "json"
        )
    )
    var data: String?

    /// The fields as typed: words keep their text, as the daemon knows the fields' types.
    ///
    /// - Parameters:
    ///   - words: `key=value`, `key:=JSON`, or a value alone.
    ///   - isUpdate: whether `key+=number` is possible.
    /// - Returns: nil if nothing is given.
    /// - Throws: `ValidationError`, or why standard input cannot be read.
    func fields(_ words: [String], isUpdate: Bool = false) throws -> FieldWords? {
        guard let text = self.data else {
            return words.isEmpty ? nil : try Self.fields(words, isUpdate)
        }
        let object = text == "-" ? try StandardInput.text(upTo: RequestLimits.lineBytes) : text
        var parser = JSONParser(Array(object.utf8))
        let value: JSONValue
        do {
            value = try parser.parse()
        } catch {
            throw ValidationError("--data is not JSON: \(error.message) at byte \(error.offset)")
        }
        if let key = parser.doubledKey {
            throw ValidationError("--data has the key \(key.quoted) twice in one object")
        }
        guard let members = value.members else {
            throw ValidationError("--data is not a JSON object, like '{\"key\":\"value\"}'")
        }
        return FieldWords(values: members)
    }

    /// Reports what can be told to be wrong before anything is read.
    func check(_ words: [String], isUpdate: Bool = false) throws {
        _ = try Self.fields(words, isUpdate)
        guard self.data == nil || words.isEmpty else {
            throw ValidationError("give the values as key=value or with --data, not both")
        }
    }

    private static func fields(_ words: [String], _ isUpdate: Bool) throws -> FieldWords {
        guard !words.contains("") else {
            throw ValidationError("a word is empty; write key= for an empty text")
        }
        do {
            return try FieldWords(words, in: "the command line", isUpdate: isUpdate)
        } catch {
            throw ValidationError(error.message)
        }
    }
}
