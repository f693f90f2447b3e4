import TestSupport

/// Prometheus's text format 0.0.4, parsed as strictly as its documentation defines it.
struct PrometheusSamples {
    private var values: [String: Double] = [:]

    /// The value of a sample, named with its labels as in the text.
    subscript(sample: String) -> Double? { self.values[sample] }

    /// The sum of the samples whose names begin so.
    func total(_ prefix: String) -> Double {
        self.values.filter { $0.key.hasPrefix(prefix) }.values.reduce(0, +)
    }

    /// - Throws: ``TestFailure`` that names the line and the rule it breaks.
    init(parsing text: String) throws {
        guard text.hasSuffix("\n") else { throw TestFailure("the last line has no newline") }
        var metric = ""
        var type: String?
        var helped: Set<String> = []
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            func broken(_ rule: String) -> TestFailure { TestFailure("\(rule): \(line)") }
            if let match = line.wholeMatch(of: /# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)/) {
                metric = String(match.1)
                type = nil
                guard helped.insert(metric).inserted else { throw broken("a metric in two groups") }
            } else if let match = line.wholeMatch(of: /# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) ([a-z]+)/)
            {
                guard match.1 == metric, type == nil else { throw broken("a type out of place") }
                guard ["counter", "gauge"].contains(match.2) else { throw broken("an odd type") }
                // `promtool check metrics` requires this too.
                guard (match.2 == "counter") == metric.hasSuffix("_total") else {
                    throw broken("_total is for counters, and for all of them")
                }
                type = String(match.2)
            } else if let match = line.wholeMatch(
                of: /([a-zA-Z_:][a-zA-Z0-9_:]*)(?:{([a-zA-Z_][a-zA-Z0-9_]*="[^"\\]*",?)+})? (\S+)/
            ) {
                guard match.1 == metric, type != nil else { throw broken("a sample out of place") }
                guard let value = Double(match.3) else { throw broken("no number") }
                let name = String(line.dropLast(match.3.count + 1))
                guard self.values.updateValue(value, forKey: name) == nil else {
                    throw broken("a sample twice")
                }
            } else {
                throw broken("neither HELP nor TYPE nor a sample")
            }
        }
    }
}
