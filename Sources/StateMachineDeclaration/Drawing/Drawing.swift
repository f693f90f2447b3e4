import StateMachineCore
package import StateMachineProtocol

/// A machine as a picture, or as text.
///
/// What a client may set is drawn only from states that list it; where everything may be set,
/// arrows would hide the picture.
package struct Drawing: Sendable {
    /// A state with its remarks and the ways out of it.
    package struct State: Sendable {
        package let name: String
        let groups: [String]
        let isFinal: Bool
        package let mark: StateMark?
        /// Its fields, its commands, and the events that do not leave it, each as a line of text.
        package let lines: [String]
        package var arrows: [Arrow]
        /// Whether a client may set any state from it.
        package let isOpen: Bool
        /// What keeps it from being entered at the moment.
        var bar: DrawingBar?
    }

    /// An arrow with everything that leads that way.
    package struct Arrow: Sendable {
        /// The number of a state.
        package let to: Int
        package let labels: [String]
        /// Whether only a client's `set` leads that way.
        let isSetOnly: Bool
        /// How often it has been taken; nil if that is not known.
        package var past: Past?
    }

    /// How often a way has been taken.
    package struct Past: Sendable {
        package let count: Int
        /// The median of the stays that ended that way, as it is shown; nil if none did.
        let median: String?

        /// Beside an arrow: `12 ×, 3 min`.
        package var text: String {
            guard self.count > 0 else { return "never" }
            return "\(self.count) ×\(self.median.map { ", \($0)" } ?? "")"
        }
    }

    /// Another machine that this one sees: a dashed box.
    package struct Link: Sendable {
        /// Its name here, and what it names if that is called otherwise: `water`, `grinder (mill)`.
        let text: String
        /// The numbers of the states that require something of it, or look for something.
        let states: [Int]
    }

    /// The machine's name; nil if it has none.
    let title: String?
    package let links: [Link]
    package var states: [State]
    /// The number of the state in which it begins.
    let initial: Int
    /// The number of the marked state; nil if none is.
    package let present: Int?

    /// Notes what keeps states from being entered, by their names.
    package mutating func note(_ bars: [String: DrawingBar]) {
        for number in self.states.indices {
            self.states[number].bar = bars[self.states[number].name]
        }
    }

    /// Notes how often each way was taken, by the names of its ends, and the median stay before it.
    ///
    /// A way that was taken but has no arrow gets one: what a client may set is drawn once somebody
    /// did.
    package mutating func note(_ past: [DrawingWay: (count: Int, median: String?)]) {
        let numbers = self.states.map(\.name).numbered
        for from in self.states.indices {
            let ways = past.filter { $0.key.from.isSpelled(self.states[from].name) }
            var taken: [Int: Past] = [:]
            for (way, times) in ways {
                guard let to = numbers[Spelling(way.to)] else { continue }
                taken[to] = Past(count: times.count, median: times.median)
            }
            for index in self.states[from].arrows.indices {
                let to = self.states[from].arrows[index].to
                self.states[from].arrows[index].past =
                    taken.removeValue(forKey: to) ?? Past(count: 0, median: nil)
            }
            let label = self.states[from].isOpen ? "set" : "no longer"
            self.states[from].arrows += taken.sorted { $0.key < $1.key }.map { to, times in
                Arrow(to: to, labels: [label], isSetOnly: true, past: times)
            }
        }
    }

    /// The ways out of a state, gathered: one arrow for each state that they lead to.
    static func arrows(_ ways: [(label: String, to: Int)], sets: [Int]) -> [Arrow] {
        var labels: [Int: [String]] = [:]
        var order: [Int] = []
        for (label, to) in ways + sets.map({ ("set", $0) }) {
            if labels[to] == nil { order.append(to) }
            // No event's name has a space in it.
            labels[to, default: []].append(label.hasPrefix("after ") ? "◷ \(label)" : label)
        }
        let moved = Set(ways.map(\.to))
        return order.map { to in
            Arrow(to: to, labels: labels[to] ?? [], isSetOnly: !moved.contains(to))
        }
    }
}

extension Drawing {
    package var plainText: String {
        let states = self.states.enumerated().map { number, state in
            let remarks = self.remarks(number)
            let title = remarks.isEmpty ? state.name : "\(state.name)  (\(remarks))"
            let arrows = state.arrows.map { arrow in
                let past = arrow.past.map { "  (\($0.text))" } ?? ""
                return
                    "\(arrow.labels.joined(separator: ", ")) → \(self.states[arrow.to].name)\(past)"
            }
            let rows = state.lines + arrows + (state.isOpen ? ["set → any"] : [])
            return ([title] + rows.map { "  " + $0 }).joined(separator: "\n")
        }
        return (states + [self.linksText].compactMap(\.self)).joined(separator: "\n\n")
    }

    /// `sees water, grinder (mill)`; nil if it sees no other machine.
    package var linksText: String? {
        self.links.isEmpty
            ? nil : "sees \(self.links.map(\.text).joined(separator: ", "))"
    }

    /// Short remarks about a state; empty if there is nothing to remark.
    package func remarks(_ number: Int) -> String {
        let state = self.states[number]
        var remarks: [String] = []
        if number == self.present { remarks.append("present") }
        if number == self.initial { remarks.append("start") }
        if state.isFinal { remarks.append("final") }
        if let mark = state.mark { remarks.append(mark.rawValue) }
        if let bar = state.bar { remarks.append(bar.rawValue) }
        if !state.groups.isEmpty { remarks.append("in \(state.groups.joined(separator: ", "))") }
        return remarks.joined(separator: "; ")
    }
}

extension Drawing {
    /// The drawing for other programs: `states` in their order, each with its name, its lines of
    /// text, what bars it and its `arrows`, which name states by their numbers.
    package var json: JSONValue {
        let links = self.links.map { link -> JSONValue in
            ["text": .string(link.text), "states": .array(link.states.map { .integer($0) })]
        }
        let members = [
            JSONMember("title", self.title.map { .string($0) } ?? .null),
            JSONMember("initial", .integer(self.initial)),
            JSONMember("states", .array(self.states.map(\.json))),
        ]
        return .object(members + (links.isEmpty ? [] : [JSONMember("links", .array(links))]))
    }
}

extension Drawing.State {
    fileprivate var json: JSONValue {
        [
            "name": .string(self.name),
            "groups": .array(self.groups.map { .string($0) }),
            "lines": .array(self.lines.map { .string($0) }),
            "final": .bool(self.isFinal),
            "mark": self.mark.map { .string($0.rawValue) } ?? .null,
            "open": .bool(self.isOpen),
            "bar": self.bar.map { .string($0.rawValue) } ?? .null,
            "arrows": .array(self.arrows.map(\.json)),
        ]
    }
}

extension Drawing.Arrow {
    fileprivate var json: JSONValue {
        [
            "to": .integer(self.to),
            "labels": .array(self.labels.map { .string($0) }),
            "set": .bool(self.isSetOnly),
        ]
    }
}

extension Drawing {
    /// A state diagram; states get numbers, as a name may contain what has a meaning in Mermaid.
    package var mermaid: String {
        var lines = ["stateDiagram-v2"]
        for (number, state) in self.states.enumerated() {
            lines.append("    state \"\(state.name.harmless)\" as s\(number)")
        }
        lines.append("    [*] --> s\(self.initial)")
        for (number, state) in self.states.enumerated() {
            for arrow in state.arrows {
                let past = arrow.past.map { " (\($0.text))" } ?? ""
                let label = arrow.labels.map(\.harmless).joined(separator: ", ") + past
                lines.append("    s\(number) --> s\(arrow.to) : \(label)")
            }
            if state.isFinal { lines.append("    s\(number) --> [*]") }
        }
        for (number, link) in self.links.enumerated() {
            lines.append("    state \"\(link.text.harmless)\" as l\(number)")
            lines += link.states.map { "    l\(number) --> s\($0)" }
        }
        if !self.links.isEmpty {
            lines.append("    classDef link fill:none,stroke-dasharray:4")
            let names = self.links.indices.map { "l\($0)" }.joined(separator: ",")
            lines.append("    class \(names) link")
        }
        for bar in [DrawingBar.held, .guarded] {
            let barred = self.states.indices.filter { self.states[$0].bar == bar }
            guard !barred.isEmpty else { continue }
            lines.append("    classDef \(bar.rawValue) stroke:#D55E00,stroke-dasharray:4")
            let names = barred.map { "s\($0)" }.joined(separator: ",")
            lines.append("    class \(names) \(bar.rawValue)")
        }
        for mark in StateMark.allCases {
            let marked = self.states.indices.filter { self.states[$0].mark == mark }
            guard !marked.isEmpty else { continue }
            lines.append("    classDef \(mark.rawValue) fill:\(mark.colour)")
            let names = marked.map { "s\($0)" }.joined(separator: ",")
            lines.append("    class \(names) \(mark.rawValue)")
        }
        if let present = self.present {
            // A mark keeps its colour.
            let fill = self.states[present].mark == nil ? ",fill:#FFE9A8" : ""
            lines.append("    classDef present stroke-width:4px\(fill)")
            lines.append("    class s\(present) present")
        }
        return lines.joined(separator: "\n")
    }
}

extension String {
    /// The text without characters that mean something in Mermaid, which has no escape for them; a
    /// daemon's states may have any name.
    fileprivate var harmless: String {
        let signs = self.replacing("<=", with: "≤").replacing(">=", with: "≥").replacing(
            "<",
            with: "＜"
        )
        .replacing(">", with: "＞")
        return String(signs.map { "\";#:%".contains($0) ? "_" : $0 })
    }
}

extension Drawing {
    /// A digraph for Graphviz.
    package var dot: String {
        var lines = [
            "digraph \"\((self.title ?? "machine").escaped)\" {",
            "    rankdir=LR;",
            "    node [shape=box, style=rounded, fontname=\"sans-serif\"];",
            "    edge [fontname=\"sans-serif\", fontsize=10];",
            "    start [shape=point];",
            "    start -> s\(self.initial);",
        ]
        for (number, state) in self.states.enumerated() {
            lines.append("    s\(number) [\(self.marks(number, state))];")
        }
        for (number, link) in self.links.enumerated() {
            lines.append("    l\(number) [label=\"\(link.text.escaped)\", style=dashed];")
            lines += link.states.map {
                "    l\(number) -> s\($0) [style=dashed, arrowhead=none, color=gray50];"
            }
        }
        for (number, state) in self.states.enumerated() {
            for arrow in state.arrows {
                lines.append("    s\(number) -> s\(arrow.to) [\(Self.marks(arrow))];")
            }
        }
        lines.append("}")
        return lines.joined(separator: "\n")
    }

    private func marks(_ number: Int, _ state: State) -> String {
        let bar = state.bar.map { "\\n\($0.sign) \($0.rawValue)" } ?? ""
        var marks = ["label=\"\(state.name.escaped)\(bar)\""]
        if state.isFinal { marks.append("peripheries=2") }
        if state.bar != nil { marks.append("color=\"#D55E00\"") }
        let isPresent = number == self.present
        if isPresent { marks.append("penwidth=3") }
        if let fill = state.mark?.colour ?? (isPresent ? "#FFE9A8" : nil) {
            marks += ["style=\"rounded,filled\"", "fillcolor=\"\(fill)\""]
        }
        return marks.joined(separator: ", ")
    }

    private static func marks(_ arrow: Arrow) -> String {
        let labels = arrow.labels.map(\.escaped) + (arrow.past.map { [$0.text] } ?? [])
        var marks = ["label=\"\(labels.joined(separator: "\\n"))\""]
        if arrow.isSetOnly { marks.append("color=gray50") }
        switch arrow.past?.count {
        case nil: break
        case 0?: marks.append("style=dashed")
        // One wider for each hundred times as often.
        case let count?: marks.append("penwidth=\(1 + String(count).utf8.count / 2)")
        }
        return marks.joined(separator: ", ")
    }
}

extension String {
    /// The text escaped for use between quotes; a daemon's states may have any name.
    fileprivate var escaped: String {
        self.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
}

extension Drawing {
    /// A drawing of a declared machine; the state of the name `present` is marked.
    package init(_ declaration: Declaration, present: String? = nil) {
        self.init(of: declaration.described, present, ranges: false)
    }

    /// A drawing of the machine in a daemon's answer to `describe`, whatever kind of machine it is;
    /// the state of the name `present` is marked.
    ///
    /// - Returns: nil if the answer has no states.
    /// With `ranges`, fields have theirs: more than fits into a box of a picture.
    package init?(description: JSONValue, present: String? = nil, ranges: Bool = false) {
        guard description["states"]?.elements?.isEmpty == false else { return nil }
        self.init(of: description, present, ranges: ranges)
    }

    private init(of description: JSONValue, _ present: String?, ranges: Bool) {
        let states = description["states"]?.elements ?? []
        let names = states.map { $0["state"]?.string ?? "?" }
        let numbers = names.numbered
        let number = { (name: String) in numbers[Spelling(name)] }
        self.title = description["machine"]?.string?.printable
        self.initial = description["initial"]?["state"]?.string.flatMap(number) ?? 0
        self.present = present.flatMap(number)
        let asked = states.map { state in
            (state["requires"]?.elements ?? []).compactMap {
                $0.string.flatMap { LinkCondition($0) }
            }
                + (state["when"]?.members ?? []).compactMap { LinkCondition($0.key) }
        }
        self.links = (description["links"]?.members ?? []).map { link in
            let place = link.value.string ?? link.value["runtime-directory"]?.string ?? "?"
            return Link(
                text: (place == link.key ? place : "\(link.key) (\(place))").printable,
                states: asked.indices.filter { asked[$0].contains { $0.link == link.key } }
            )
        }
        self.states = zip(names, states).map { name, state in
            let own = number(name) ?? 0
            let next = (description["transitions"]?[name]?.elements ?? [])
                .compactMap { $0.string.flatMap(number) }
            let isOpen = next.count == names.count
            var ways: [(label: String, to: Int)] = []
            var kept: [String] = []
            let leads =
                (state["when"]?.members ?? []) + Self.times(state["after"])
                + (state["moves"]?.members ?? [])
            for lead in leads {
                for way in Self.ways(lead) {
                    // A state of that name is meant where there is one.
                    if let to = number(way.outcome) {
                        ways.append((way.label.printable, to))
                    } else if way.outcome == "again" {
                        ways.append((way.label.printable, own))
                    } else if lead.value.string == nil || ["stay", "ignore"].contains(way.outcome) {
                        kept.append("\(way.label): \(way.text)".printable)
                    }
                }
            }
            let fields = (state["fields"]?.members ?? []).map { field in
                let fallback = field.value["default"].map { " = \($0.plainText)" } ?? ""
                return Self.line(field.key, field.value, range: ranges) + fallback
            }
            let requirements = (state["requires"]?.elements ?? []).map {
                "requires \($0.plainText)".printable
            }
            let run = state["run"]?.bool == true ? ["runs a command"] : []
            let commands = state["commands"]?.elements?.map(\.plainText) ?? run
            return State(
                name: name.printable,
                groups: (state["groups"]?.elements ?? []).map(\.plainText.printable),
                isFinal: state["final"]?.bool ?? false,
                mark: state["mark"]?.string.flatMap { StateMark(rawValue: $0) },
                lines: fields + requirements + commands + kept,
                arrows: Self.arrows(ways, sets: isOpen ? [] : next),
                isOpen: isOpen
            )
        }
    }

    /// What times lead to, each behind when it comes: `after 15min`, `after {left}`, `after 30d in open`.
    private static func times(_ after: JSONValue?) -> [JSONMember] {
        (after?.elements ?? [after].compactMap(\.self)).compactMap { time in
            let moment =
                time["ms"]?.integer.map { Duration.milliseconds($0).timeText }
                ?? time["field"].map { "{\($0.plainText)}" }
            guard let moment, let leads = time["state"] ?? time["cases"] else { return nil }
            let group = time["group"].map { " in \($0.plainText)" } ?? ""
            return JSONMember("after \(moment)\(group)", leads)
        }
    }

    /// Where something leads, for each of its cases: `wrong [tries<2]`, and what follows.
    private static func ways(_ lead: JSONMember) -> [(label: String, outcome: String, text: String)]
    {
        guard let cases = lead.value.elements else {
            let outcome = lead.value.plainText
            return [(lead.key, outcome, outcome)]
        }
        return cases.enumerated().map { index, item in
            let with = item["with"]?.string
            // What is taken if it fits says by what it does when that is.
            let condition = item["if"]?.string ?? (index < cases.count - 1 ? with : "else")
            let label = cases.count > 1 ? "\(lead.key) [\(condition ?? "if it fits")]" : lead.key
            if let why = item["refuse"] { return (label, "", "refused, \(why.plainText)") }
            let outcome = item["to"]?.string ?? "?"
            return (label, outcome, ([outcome] + [with].compactMap(\.self)).joined(separator: " "))
        }
    }

    /// A field of `describe` and what it takes: `phase: idle|active`, `level: integer 1–100`.
    package static func line(_ name: String, _ field: JSONValue, range: Bool) -> String {
        let values = (field["values"]?.elements ?? []).map(\.plainText)
        let type = field["type"]?.plainText ?? "?"
        let kind = values.isEmpty ? type : values.joined(separator: "|")
        let mark = field["optional"]?.bool == true ? "?" : ""
        let unit = type == "string" ? " bytes" : ""
        func bound(_ key: String) -> String? {
            guard type == "time", let milliseconds = field[key]?.integer else {
                return field[key]?.plainText
            }
            return Duration.milliseconds(milliseconds).timeText
        }
        let limits =
            switch (bound("min"), bound("max")) {
            case _ where !range: ""
            case (nil, nil): ""
            case (let least?, nil): " ≥ \(least)\(unit)"
            case (nil, let most?): " ≤ \(most)\(unit)"
            case (let least?, let most?): " \(least)–\(most)\(unit)"
            }
        return "\(name): \(kind)\(mark)\(limits)".printable
    }
}
