import StateMachineCore
import StateMachineProtocol

/// Reads the values of units' properties as unit files have them.
enum UnitPropertyText {
    /// The properties to give to systemd; nil if the value is not written as its kind requires.
    static func properties(
        _ name: String,
        _ kind: UnitPropertyKind,
        _ words: [String]
    ) -> [UnitProperty]? {
        switch kind {
        case .bytes, .tasks:
            return words.first.flatMap { self.limited(name, kind, $0) }.map { [$0] }
        case .limit(let isBytes): return words.first.flatMap { self.limits(name, $0, isBytes) }
        case .quota:
            // Per second of the clock, in microseconds.
            return words.first.flatMap { self.share($0, most: 1_000_000) }
                .flatMap {
                    $0 > 0 ? [UnitProperty("CPUQuotaPerSecUSec", .unsigned($0 * 100))] : nil
                }
        case .time:
            guard let text = words.first, let time = try? TimeText.duration(text),
                time <= .seconds(1)
            else { return nil }
            return [UnitProperty("CPUQuotaPeriodUSec", .unsigned(UInt64(time.wholeMicroseconds)))]
        case .boolean, .word, .wordOrBoolean, .numbered, .integer, .weight, .mode, .path, .slice:
            return words.first.flatMap { self.value(kind, $0) }.map { [UnitProperty(name, $0)] }
        case .paths, .directories, .names, .filter, .namespaces, .capabilities:
            return self.value(kind, words).map { [UnitProperty(name, $0)] }
        }
    }

    // MARK: - One word

    private static func value(_ kind: UnitPropertyKind, _ text: String) -> UnitProperty.Value? {
        switch kind {
        case .boolean: return self.boolean(text).map { .boolean($0) }
        case .word(let words): return words.contains(text) ? .text(text) : nil
        case .wordOrBoolean(let words):
            if let isOn = self.boolean(text) { return .text(isOn ? "yes" : "no") }
            return words.contains(text) ? .text(text) : nil
        case .numbered(let numbers): return numbers[text].map { .signed($0) }
        case .integer(let range):
            return Int32(text).flatMap { range.contains($0) ? .signed($0) : nil }
        case .weight(let hasIdle):
            if hasIdle, text == "idle" { return .unsigned(0) }
            return UInt64(text).flatMap { (1...10_000).contains($0) ? .unsigned($0) : nil }
        case .mode:
            guard (1...4).contains(text.utf8.count) else { return nil }
            return UInt32(text, radix: 8).flatMap { $0 <= 0o777 ? .unsigned32($0) : nil }
        case .path: return self.isPath(text[...]) ? .text(text) : nil
        case .slice:
            let isName =
                text.hasSuffix(".slice") && text.utf8.count > 6 && !text.utf8.contains(0x2F)
            return isName ? .text(text) : nil
        case .bytes, .tasks, .limit, .quota, .time, .paths, .directories, .names, .filter,
            .namespaces, .capabilities:
            return nil
        }
    }

    private static func boolean(_ text: String) -> Bool? {
        switch text {
        case "true", "yes", "on": true
        case "false", "no", "off": false
        default: nil
        }
    }

    // MARK: - Amounts

    private static func limited(
        _ name: String,
        _ kind: UnitPropertyKind,
        _ text: String
    ) -> UnitProperty? {
        if text == "infinity" { return UnitProperty(name, .unsigned(.max)) }
        let least: UInt64
        if case .bytes(let bytes) = kind { least = bytes } else { least = 1 }
        if let share = self.share(text, most: 10_000) {
            // A share of the whole is a share of the greatest number (UINT32_SCALE_FROM_PERMYRIAD).
            let scaled = UInt32((share * UInt64(UInt32.max) + 5000) / 10_000)
            return share >= least ? UnitProperty("\(name)Scale", .unsigned32(scaled)) : nil
        }
        let amount: UInt64?
        if case .bytes = kind { amount = self.bytes(text) } else { amount = UInt64(text) }
        guard let amount, amount >= least, amount < .max else { return nil }
        return UnitProperty(name, .unsigned(amount))
    }

    /// The hard limit under the name itself, and the soft one.
    private static func limits(
        _ name: String,
        _ text: String,
        _ isBytes: Bool
    ) -> [UnitProperty]? {
        let parts = text.utf8.split(
            separator: UInt8(ascii: ":"),
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        let limits = parts.compactMap { part -> UInt64? in
            let text = String(Substring(part))
            if text == "infinity" { return .max }
            return isBytes ? self.bytes(text) : UInt64(text)
        }
        guard limits.count == parts.count, let soft = limits.first, let hard = limits.last,
            soft <= hard
        else { return nil }
        return [UnitProperty(name, .unsigned(hard)), UnitProperty("\(name)Soft", .unsigned(soft))]
    }

    /// Parts of ten thousand; the percentage may have two decimals.
    private static func share(_ text: String, most: UInt64) -> UInt64? {
        guard text.utf8.last == UInt8(ascii: "%") else { return nil }
        let parts = text.utf8.dropLast().split(
            separator: UInt8(ascii: "."),
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        .map { String(Substring($0)) }
        guard let whole = parts.first.flatMap(self.digits), whole <= most / 100 else { return nil }
        var share = whole * 100
        if parts.count == 2 {
            guard (1...2).contains(parts[1].utf8.count), let part = self.digits(parts[1]) else {
                return nil
            }
            share += parts[1].utf8.count == 1 ? part * 10 : part
        }
        return share <= most ? share : nil
    }

    /// `200M`, `1.5G`: each letter stands for 1024 of the one before it.
    private static func bytes(_ text: String) -> UInt64? {
        let letters: [UInt8] = Array("BKMGTPE".utf8)
        var digits = Substring(text).utf8
        var factor: UInt64 = 1
        if let last = digits.last, let power = letters.firstIndex(of: last) {
            digits = digits.dropLast()
            factor = 1 << (10 * UInt64(power))
        }
        let parts = digits.split(
            separator: UInt8(ascii: "."),
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        .map { String(Substring($0)) }
        guard let whole = parts.first.flatMap(self.digits) else { return nil }
        var (bytes, isTooMuch) = whole.multipliedReportingOverflow(by: factor)
        if parts.count == 2 {
            guard factor > 1, parts[1].utf8.count <= 3, let part = self.digits(parts[1]) else {
                return nil
            }
            let unit: UInt64 = [1, 10, 100, 1000][parts[1].utf8.count]
            // The quotient is less than the factor; the product may be more than fits.
            let (rest, _) = unit.dividingFullWidth(factor.multipliedFullWidth(by: part))
            let sum = bytes.addingReportingOverflow(rest)
            (bytes, isTooMuch) = (sum.partialValue, isTooMuch || sum.overflow)
        }
        return isTooMuch ? nil : bytes
    }

    /// A number of digits only; the integer's own initializer would accept a sign.
    private static func digits(_ text: String) -> UInt64? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? UInt64(text) : nil
    }

    // MARK: - Lists

    private static func value(_ kind: UnitPropertyKind, _ words: [String]) -> UnitProperty.Value? {
        switch kind {
        case .paths:
            let areAll = words.allSatisfy { word in
                self.isPath(Substring(word.utf8.drop { $0 == 0x2D || $0 == 0x2B }))
            }
            return areAll ? .texts(words) : nil
        case .directories: return words.allSatisfy(self.isBelow) ? .texts(words) : nil
        case .names:
            return words.allSatisfy { self.isName($0, and: "_-.") } ? .texts(words) : nil
        case .filter(let prefix):
            let (isInverted, names) = self.inverted(words)
            let areAll = names.allSatisfy { name in
                name.hasPrefix(prefix) && self.isName(name, and: "@_-:")
            }
            return areAll && !names.isEmpty ? .filter(isAllowing: !isInverted, names) : nil
        case .namespaces:
            let all = UnitPropertyKind.namespaceFlags.values.reduce(0, |)
            if words.count == 1, let isOn = self.boolean(words[0]) {
                return .unsigned(isOn ? 0 : all)
            }
            let (isInverted, names) = self.inverted(words)
            let flags = names.compactMap { UnitPropertyKind.namespaceFlags[$0] }
            guard flags.count == names.count, !names.isEmpty else { return nil }
            let sum = flags.reduce(0, |)
            return .unsigned(isInverted ? all & ~sum : sum)
        case .capabilities:
            let (isInverted, names) = self.inverted(words)
            let bits = names.compactMap { UnitPropertyKind.capabilityNames.firstIndex(of: $0) }
            guard bits.count == names.count else { return nil }
            let sum = bits.reduce(UInt64(0)) { $0 | 1 << UInt64($1) }
            return .unsigned(isInverted ? ~sum : sum)
        case .boolean, .word, .wordOrBoolean, .numbered, .integer, .bytes, .tasks, .limit, .weight,
            .quota, .time, .mode, .path, .slice:
            return nil
        }
    }

    /// Whether `~` stands before the first word, and the words without it.
    private static func inverted(_ words: [String]) -> (Bool, [String]) {
        guard let first = words.first, first.utf8.first == UInt8(ascii: "~") else {
            return (false, words)
        }
        return (true, [String(Substring(first.utf8.dropFirst()))] + words.dropFirst())
    }

    private static func isPath(_ text: Substring) -> Bool {
        text.utf8.first == UInt8(ascii: "/") && !text.utf8.contains(where: { $0 < 0x20 })
    }

    private static func isBelow(_ text: String) -> Bool {
        let parts = text.utf8.split(
            separator: UInt8(ascii: "/"),
            omittingEmptySubsequences: false
        )
        return parts.allSatisfy { part in
            !part.isEmpty && !part.elementsEqual(".".utf8) && !part.elementsEqual("..".utf8)
                && !part.contains { $0 < 0x20 || $0 == UInt8(ascii: ":") }
        }
    }

    private static func isName(_ text: String, and others: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || others.utf8.contains(byte)
            }
    }
}
