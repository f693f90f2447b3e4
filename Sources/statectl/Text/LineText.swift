import Glibc
import StateMachineClient
import StateMachineCore
import StateMachineDeclaration

/// A line as text for people; depends on nothing but what it holds.
struct LineText {
    let style: Style
    let now: WallTime
    let userName: (UInt32) -> String?
    /// What this host is called, whose users those are.
    let host: String
    let localTime: (WallTime) -> LocalTime?
    /// Columns of the terminal; nil if lines may have any length.
    var width: Int?

    /// The line as a reply: `authentication(phase: active)   12 s ago   #41`; wrapped if too long.
    func report(_ line: Line, _ remark: String? = nil) -> String {
        self.wrapped(self.parts(of: line, remark))
    }

    /// The parts of a line as a reply, whose state has that mark.
    func parts(of line: Line, _ remark: String? = nil, mark: StateMark? = nil) -> [StyledText] {
        var parts = [line.state.map { self.styled($0, mark) } ?? StyledText()]
        if let remark { parts.append(StyledText(remark)) }
        if let at = line.at {
            let age = line.age.map { Self.ago($0) } ?? Self.age(of: at, at: self.now)
            parts.append(StyledText(age, as: .aside))
        }
        if let seq = line.seq { parts.append(StyledText("#\(seq)", as: .aside)) }
        parts += self.origin(line)
        // What will lead out of the state comes after what has led to it.
        if let due = line.due {
            parts.append(StyledText("next: \(self.due(due, in: line))", as: .aside))
        }
        return parts + self.obstacles(line).map { StyledText($0, as: .notice) }
    }

    /// What keeps the machine from what is asked for, or is due: `denied by hold 7 of anna (812): unsaved work`.
    private func obstacles(_ line: Line) -> [String] {
        var texts: [String] = []
        if let age = Self.staleness(line) { texts.append("may be \(age) old") }
        if let overdue = line[.overdue], let denial = self.denial(overdue) { texts.append(denial) }
        if let breaker = line[.suspended] { texts.append(Self.suspension(breaker)) }
        if let trouble = line.trouble { texts.append("changes are refused: \(trouble.printable)") }
        return texts
    }

    /// How many moves within what time suspend those of the machine's own: `automatic transitions are suspended after 50
    /// within 60 s`.
    static func suspension(_ breaker: JSONValue) -> String {
        let span = (breaker["inMs"]?.integer).map { self.span($0 / 1000) } ?? "?"
        let moves = breaker["moves"]?.shortText ?? "?"
        return "automatic transitions are suspended after \(moves) within \(span)"
    }

    /// Parts with spaces between them, on as many lines as it takes; `indent` is for all but the first.
    func wrapped(_ parts: [StyledText], indent: Int = 4) -> String {
        parts.wrapped(separator: "   ", to: self.width, indent: indent).map { $0.text(self.style) }
            .joined(separator: "\n")
    }

    /// One line of a watch; nil if there is nothing in it for people.
    ///
    /// - Parameters:
    ///   - line: the line.
    ///   - columns: the columns of the lines before it.
    /// - Returns: the text, without a newline.
    func event(_ line: Line, in columns: Columns) -> String? {
        switch line.kind {
        case .state where !line.isSelected: self.notice(line).map { self.marked($0, as: .notice) }
        case .beat where !line.isSelected: self.marked("— still no match", as: .aside)
        case .state, .change, .beat: RowText(text: self, columns: columns).text(line)
        case .live: self.aside("— up to date at #\(line.number)")
        case .declared: self.aside(self.declared(line))
        case .other where line.isStuck: RowText(text: self, columns: columns).text(line)
        case .other where line.isUp != nil:
            self.notice(line).map { self.marked($0, as: line.isUp == true ? .aside : .notice) }
        case .reply, .ask, .bye, .other: nil
        }
    }

    /// Says that the daemon is gone.
    func gone(_ error: ClientError) -> String {
        self.marked("— gone: \(error.description.printable)", as: .notice)
    }

    /// Says that the daemon is back.
    var back: String { self.marked("— back", as: .notice) }

    /// A line of a watch about the present moment and no state.
    private func marked(_ text: String, as role: Style.Role) -> String {
        let time = self.localTime(self.now).map { StyledText($0.time + "  ", as: .aside) }
        return ((time ?? StyledText()) + StyledText(text, as: role)).cut(to: self.width)
            .text(self.style)
    }

    private func declared(_ line: Line) -> String {
        let name = line.version ?? line.declaration.map { String($0.prefix(12)) } ?? "?"
        return "— declared by \(name.printable) from #\(line.number) on"
    }

    /// The peer in an object with `uid` and `pid`, and what ran there if that is known:
    /// `root (812, deploy, deploy.service)`.
    func peer(_ row: JSONValue) -> String {
        self.peer(row, [row["comm"]?.string, Self.service(row)])
    }

    /// The same without what runs there: `root (812)`.
    func process(_ row: JSONValue) -> String { self.peer(row, []) }

    /// The same where there is little room: `root (deploy.service)`; without a service the command,
    /// else the process.
    func shortPeer(_ row: JSONValue) -> String {
        let word = Self.service(row) ?? row["comm"]?.string ?? row["pid"]?.shortText ?? "?"
        return "\(self.user(row)) (\(word.printable))"
    }

    /// The service of its unit, perhaps after a user's manager; nil if it is none, as for a session.
    private static func service(_ row: JSONValue) -> String? {
        row["unit"]?.string?.split(separator: "/").last
            .flatMap { $0.hasSuffix(".service") ? String($0) : nil }
    }

    private func peer(_ row: JSONValue, _ program: [String?]) -> String {
        let words = program.compactMap { $0?.printable }
        let all = [row["pid"]?.shortText ?? "?"] + words
        return "\(self.user(row)) (\(all.joined(separator: ", ")))"
    }

    /// The user's name, at a host if several share the machine: what another one calls a user is known of root alone.
    private func user(_ row: JSONValue) -> String {
        let uid = row["uid"]?.integer.flatMap { UInt32(exactly: $0) }
        let host = row["host"]?.string
        let isKnown = host == nil || host == self.host || uid == 0
        let name = isKnown ? uid.flatMap(self.userName)?.printable : nil
        return (name ?? "uid \(row["uid"]?.shortText ?? "?")")
            + (host.map { "@\($0.printable)" } ?? "")
    }

    /// Who asked for it, and why, and whether no hold and no guard was asked.
    func origin(_ line: Line, isShort: Bool = false) -> [StyledText] {
        var parts: [StyledText] = []
        if let by = line[.by] {
            let peer = isShort ? self.shortPeer(by) : self.peer(by)
            parts.append(StyledText("by \(peer)", as: .aside))
        }
        if let cause = line.cause { parts.append(StyledText(cause.printable)) }
        if line.isForced { parts.append(StyledText("forced", as: .notice)) }
        return parts
    }

    /// What to tell a reader who believes that nothing is missing.
    func notice(_ line: Line) -> String? {
        if let isUp = line.isUp {
            guard !isUp else { return "— is what all hosts have again" }
            let why = line.reason.map { SharingTrouble(rawValue: $0)?.sentence ?? $0 } ?? "?"
            let age = Self.staleness(line).map { "may be \($0) old" } ?? "may be old"
            return "— \(age), and cannot be changed: \(why.printable)"
        }
        let count = line.missed.map { ", \($0) missed" } ?? "; changes may have been missed"
        return switch line.resync {
        case nil: nil
        case "restarted": "— the daemon was restarted\(count)"
        case "evicted": "— the changes after the cursor are no longer kept\(count)"
        case "lagged": "— fell behind\(count)"
        case "unknown": "— the cursor is not from this daemon\(count)"
        case let other?: "— \(other.printable)\(count)"
        }
    }

    /// The time of day, with the date before it if that is not today's; nil for a moment that no clock shows.
    func clock(_ moment: WallTime) -> String? {
        self.localTime(moment)?.text(today: self.localTime(self.now))
    }

    /// The same, to the second.
    func second(_ moment: WallTime) -> String? {
        let second = 1_000_000 as Int64
        let rounded = (moment.microseconds + second / 2) / second * second
        return self.clock(WallTime(microseconds: rounded)).map { String($0.dropLast(4)) }
    }

    func aside(_ text: String) -> String { self.style.text(text, as: .aside) }

    /// `authentication(phase: active)`.
    func styled(_ state: NamedState, _ mark: StateMark? = nil) -> StyledText {
        StyledText(state.name.printable, as: mark.map { .marked($0) } ?? .state)
            + StyledText(state.valuesText)
    }

    /// How long ago, in the one unit that fits best.
    static func age(of moment: WallTime, at now: WallTime) -> String {
        self.ago(.microseconds(now.microseconds - moment.microseconds))
    }

    /// How old what the line says may be, as it says where several hosts share the machine; nil: it is what all have.
    static func staleness(_ line: Line) -> String? {
        line[.staleMs]?.integer.map { SpanText.text($0 * 1000) }
    }

    static func ago(_ age: Duration) -> String {
        let seconds = age.components.seconds
        return seconds < 1 ? "just now" : "\(Self.span(seconds)) ago"
    }

    /// A span of seconds; what has begun of the unit counts only where that is asked for, as of what is still to come.
    static func span(_ seconds: Int64, roundingUp: Bool = false) -> String {
        func whole(_ unit: Int64) -> Int64 { (seconds + (roundingUp ? unit - 1 : 0)) / unit }
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\(whole(60)) min"
        case ..<172_800: "\(whole(3600)) h"
        default: "\(whole(86400)) days"
        }
    }

    /// The seconds until a moment, of which one that has begun counts.
    static func seconds(until moment: WallTime, at now: WallTime) -> Int64 {
        let left = moment.microseconds - now.microseconds
        return left / 1_000_000 + (left % 1_000_000 > 0 ? 1 : 0)
    }

    /// What the deadline will do to the state, and when, as far as the line says so by a clock that nobody sets.
    private func due(_ due: (state: NamedState, at: WallTime), in line: Line) -> String {
        if let left = line["due"]?["leftMs"]?.integer, (1..<1000).contains(left) {
            return "\(due.state.text) in \(left) ms"
        }
        var seconds = Self.seconds(until: due.at, at: self.now)
        if let overdue = line.overdue {
            seconds = -overdue.components.seconds
        } else if let left = line["due"]?["leftMs"]?.integer {
            seconds = left > 0 ? (left + 999) / 1000 : min(0, seconds)
        }
        switch seconds {
        case ..<(-1): return "\(due.state.text) overdue for \(Self.span(-seconds))"
        case ..<1 where line.isSuspended: return "\(due.state.text) overdue"
        case ..<1: return "\(due.state.text) any moment"
        default: return "\(due.state.text) in \(Self.span(seconds, roundingUp: true))"
        }
    }
}

extension LineText {
    /// The text for people at the end of a history; nil if there is nothing to say.
    ///
    /// - Parameters:
    ///   - reply: the daemon's last reply.
    ///   - cursor: the cursor of the last change that was shown.
    ///   - order: which change came first.
    /// - Returns: one line for each thing.
    func end(ofHistory reply: Line, at cursor: String?, order: Request.HistoryOrder) -> String? {
        var parts: [String] = []
        if let notice = self.notice(reply) { parts.append(self.style.text(notice, as: .notice)) }
        if reply.hasMore {
            let next = cursor.map { cursor in
                switch order {
                case .oldest: "--oldest-first --since \(cursor.printable)"
                case .newest: "-n all, or --until \(cursor.printable)"
                }
            }
            let more = "— there are more"
            let whole = next.map { "\(more): \($0)" } ?? more
            let isFitting = self.width.map { whole.columns <= $0 } ?? true
            parts.append(self.aside(isFitting ? whole : "\(more):\n  \(next ?? "")"))
        }
        return parts.isEmpty ? nil : parts.joined(separator: "\n")
    }

    /// The reply to `ping`: `answered in 0.42 ms   #41`.
    func answer(_ line: Line, after duration: Duration) -> String {
        let hundredths = Int64((duration / .microseconds(10)).rounded())
        let time = "answered in \(hundredths / 100).\((hundredths % 100).digits(2)) ms"
        return time + (line.seq.map { "   " + self.style.text("#\($0)", as: .aside) } ?? "")
    }
}

extension Line {
    /// The number of its change, as far as it says.
    var number: String { self.seq.map(String.init) ?? "?" }
}

extension NamedState {
    /// The state as it would stand in Swift: `authentication(phase: active)`, `ready(true)`.
    var text: String { self.name.printable + self.valuesText }

    /// The associated values in parentheses; empty if there are none.
    var valuesText: String {
        guard !self.data.isEmpty else { return "" }
        let values = self.data.enumerated().map { index, member in
            let unlabelled = index == 0 ? "value" : "value\(index + 1)"
            let value = member.value.shortText
            return member.key == unlabelled ? value : "\(member.key.printable): \(value)"
        }
        return "(\(values.joined(separator: ", ")))"
    }
}

extension JSONValue {
    /// A word without quotes, unless it could be mistaken for another value; else JSON.
    var shortText: String {
        guard let string = self.string else { return self.description.printable }
        let isWord = string.utf8.allSatisfy {
            $0.isLetterOrDigit || $0 >= 0x80 || "_-.".utf8.contains($0)
        }
        guard isWord, !string.isEmpty, JSONValue(parsing: string) == nil else {
            return self.description.printable
        }
        return string.printable
    }
}

/// A span of microseconds as people are shown it, short ones too: `12 µs`, `340 ms`, `4.2 s`, `3 min`.
enum SpanText {
    static func text(_ microseconds: Int64) -> String {
        switch microseconds {
        case ..<1000: "\(microseconds) µs"
        case ..<1_000_000: "\(microseconds / 1000) ms"
        case ..<10_000_000: "\(microseconds / 1_000_000).\(microseconds / 100_000 % 10) s"
        default: LineText.span(microseconds / 1_000_000)
        }
    }

    /// A share of a whole: `3.2 %`; something is never shown as nothing, nor less than all as all.
    static func percent(_ share: Double) -> String {
        let tenths = Int((share * 1000).rounded())
        if tenths == 0, share > 0 { return "<0.1 %" }
        if tenths == 1000, share < 1 { return ">99.9 %" }
        return "\(tenths / 10).\(tenths % 10) %"
    }
}

/// A moment as a wall clock shows it.
struct LocalTime: Equatable {
    let date: String
    let time: String

    /// The time, with the date before it if that is not today's.
    func text(today: LocalTime?) -> String {
        self.date == today?.date ? self.time : "\(self.date) \(self.time)"
    }
}

extension LocalTime {
    /// In this process's time zone, or in UTC, marked `Z`; nil beyond the years the system knows.
    init?(_ moment: WallTime, inUTC isUTC: Bool = false) {
        let microseconds = moment.microseconds
        guard microseconds >= 0, let fields = moment.fields(inUTC: isUTC) else { return nil }
        let day = [fields.tm_mon + 1, fields.tm_mday].map { $0.digits(2) }
        self.date = "\((fields.tm_year + 1900).digits(4))-\(day.joined(separator: "-"))"
        let clock = [fields.tm_hour, fields.tm_min, fields.tm_sec].map { $0.digits(2) }
        let thousandths = (microseconds / 1000 % 1000).digits(3)
        self.time = "\(clock.joined(separator: ":")).\(thousandths)\(isUTC ? "Z" : "")"
    }
}

extension WallTime {
    /// What a calendar and a clock show of it, in this process's time zone or in UTC; nil beyond the years the system
    /// knows.
    func fields(inUTC isUTC: Bool) -> tm? {
        var seconds = time_t(self.microseconds / 1_000_000)
        var fields = tm()
        let shown = isUTC ? gmtime_r(&seconds, &fields) : localtime_r(&seconds, &fields)
        return shown == nil ? nil : fields
    }
}

/// A line of a watch or a history as a row: the time, the number, the state, and the rest.
///
/// On a terminal no line is wider than the terminal: the previous state is cut first, or left out,
/// and what still has no room stands below the state.
struct RowText {
    /// The width below which a terminal is narrow, and a row has no columns.
    ///
    /// 60: the time, a number and two states.
    private static let narrow = 60

    /// Columns reserved for who asked for a change, before the previous state gets any.
    ///
    /// 24: `by root (deploy.service)`.
    private static let actor = 24
    /// The width below which the previous state says nothing any more.
    ///
    /// 8: `was off` and an ellipsis.
    private static let leastFrom = 8

    let text: LineText
    let columns: Columns

    /// The row as it is printed.
    func text(_ line: Line) -> String {
        self.lines(line).map { $0.text(self.text.style) }.joined(separator: "\n")
    }

    /// The row; on a narrow terminal as many lines as it takes, the state and what follows below each other.
    func lines(_ line: Line) -> [StyledText] {
        // A sign of life tells that nothing has happened up to now.
        let isSign = line.kind == .beat || line.isStuck
        let time = StyledText(self.time(isSign ? self.text.now : line.at), as: .aside)
        let number = StyledText("#\(line.number)", as: .aside)
        let state = line.state.map { self.text.styled($0) } ?? StyledText("?")
        if let width = self.text.width, width < Self.narrow {
            return
                ([time, number, state] + self.notes(of: line)
                + self.text.origin(line, isShort: true).reversed())
                .wrapped(separator: "  ", to: width, indent: time.columns + 2)
                .map { $0.cut(to: width) }
        }
        let start = [time, number.padded(to: self.columns.seq(number.columns))]
            .joined(separator: "  ")
        let limit = self.text.width.map { width in
            let room = width - start.columns - 2
            return max(room / 2, room - 2 - Self.actor)
        }
        let width = self.columns.state(state.columns, limit: limit)
        let rest = self.rest(of: line, after: start.columns + 2 + width)
        let cell = state.cut(to: limit)
        let row = [start, rest.isEmpty ? cell : cell.padded(to: width)] + rest
        return row.wrapped(separator: "  ", to: self.text.width, indent: start.columns + 2)
            .map { $0.cut(to: self.text.width) }
    }

    /// The time; to the second, and without a date, where there is no room.
    private func time(_ moment: WallTime?) -> String {
        let isNarrow = self.text.width.map { $0 < Self.narrow } ?? false
        guard let moment, let time = self.text.localTime(moment) else {
            return isNarrow ? "--:--:--" : "--:--:--.---"
        }
        guard !isNarrow else { return String(time.time.prefix(8)) }
        return time.text(today: self.text.localTime(self.text.now))
    }

    /// The previous state, who asked for the change and why, and notes, after `taken` columns.
    private func rest(of line: Line, after taken: Int) -> [StyledText] {
        let others = self.text.origin(line, isShort: true) + self.notes(of: line)
        return self.from(line, after: taken, isLast: others.isEmpty) + others
    }

    private func notes(of line: Line) -> [StyledText] {
        var notes: [StyledText] = []
        if let skipped = line.skipped { notes.append(StyledText("\(skipped) skipped", as: .aside)) }
        if line.kind == .beat { notes.append(StyledText("still", as: .aside)) }
        if line.isStuck {
            let age = line.stayAge ?? line.age(at: self.text.now)
            notes.append(StyledText("— for \(LineText.span(age.components.seconds))", as: .notice))
        }
        if let length = line["forMs"]?.integer {
            let isOver = line["until"] != nil
            notes.append(
                StyledText("for \(SpanText.text(length * 1000))\(isOver ? "" : " so far")")
            )
        }
        if let notice = self.text.notice(line) { notes.append(StyledText(notice, as: .notice)) }
        return notes
    }

    private func from(_ line: Line, after taken: Int, isLast: Bool) -> [StyledText] {
        guard let from = line.from else { return [] }
        let was = StyledText("was \(from.text)", as: .aside)
        let limit = self.text.width.map { min($0 / 4, $0 - taken - Self.actor - 4) }
        guard limit.map({ $0 >= Self.leastFrom }) ?? true else { return [] }
        let width = self.columns.from(was.columns, limit: limit)
        let cell = was.cut(to: limit)
        return [isLast ? cell : cell.padded(to: width)]
    }
}
