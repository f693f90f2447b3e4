import ArgumentParser
import Processes
import StateMachineClient
import StateMachineCore
import SystemPackage

/// Fields as they are typed after a command: words, or all of them as one object.
struct TypedValues: ParsableArguments {
    @Option(help: .value("json", "All values as one JSON object; - reads it from standard input."))
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
    func check(_ words: [String], isUpdate: Bool) throws {
        _ = try Self.fields(words, isUpdate)
        guard self.data == nil || words.isEmpty else {
            throw ValidationError("give the values as key=value or with --data, not both")
        }
    }

    private static func fields(_ words: [String], _ isUpdate: Bool) throws -> FieldWords {
        try demand(!words.contains(""), "an argument is empty; write key= for an empty text")
        do {
            return try FieldWords(words, in: "the command line", for: isUpdate ? .update : .data)
        } catch {
            throw ValidationError(error.message)
        }
    }
}

/// Standard input, for commands that read what they are given there.
enum StandardInput {
    /// The whole of it, up to its end.
    ///
    /// - Parameter limit: the most bytes; more are refused.
    /// - Returns: the text.
    /// - Throws: `ValidationError`, or why it cannot be read.
    static func text(upTo limit: Int) throws -> String {
        let bytes = try FileDescriptor.standardInput.bytes(atMost: limit + 1, waiting: true)
        try demand(bytes.count <= limit, "standard input is longer than \(limit) bytes")
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ValidationError("standard input is not UTF-8")
        }
        return text
    }
}
