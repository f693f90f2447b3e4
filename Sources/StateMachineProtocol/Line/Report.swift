package import StateMachineCore

// What lines say about a state.
extension ServerLine {
    /// A state, its place in the order, and since when it holds.
    package struct Report: Sendable {
        package let seq: UInt64
        /// The state as ``Encoded/fragment`` has it; empty: only the moment decides.
        package let fragment: [UInt8]
        package let at: WallTime
        package let epoch: Epoch
        /// The seq that began the stay; nil for a machine that has no stays.
        package let stay: UInt64?
        /// What time will do; nil if nothing.
        package private(set) var due: Due?
        /// How old it may be, in milliseconds; nil: it is what it is.
        package private(set) var staleMs: Int64?

        package init(
            seq: UInt64,
            fragment: [UInt8],
            at: WallTime,
            epoch: Epoch,
            stay: UInt64? = nil,
            due: Due? = nil
        ) {
            self.seq = seq
            self.fragment = fragment
            self.at = at
            self.epoch = epoch
            self.stay = stay
            self.due = due
        }

        /// The same, as it was that many milliseconds ago; nil: as it is.
        package func stale(for staleMs: Int64?) -> Report {
            guard let staleMs else { return self }
            var report = self
            report.staleMs = staleMs
            return report
        }

        /// The same with the milliseconds that are left until what is due; nil if nothing is.
        package func counting(_ leftMs: Int64?) -> Report {
            guard let due = self.due, let leftMs else { return self }
            var report = self
            report.due = due.counting(leftMs)
            return report
        }
    }

    /// What time will do: the state to be entered, and when.
    ///
    /// A reference, so that a stay without one carries little.
    package final class Due: Sendable {
        /// The state's members; all members if it was recorded.
        private let fragment: [UInt8]
        /// Nil if that is among the members.
        private let at: WallTime?
        private let leftMs: Int64?

        private init(_ fragment: [UInt8], at: WallTime?, leftMs: Int64? = nil) {
            self.fragment = fragment
            self.at = at
            self.leftMs = leftMs
        }

        /// - Parameters:
        ///   - fragment: the state as ``Encoded/fragment`` has it.
        ///   - at: when.
        package convenience init(fragment: [UInt8], at: WallTime) { self.init(fragment, at: at) }

        /// As it was recorded; nil if that is not an object.
        package convenience init?(recorded text: String) {
            guard text.utf8.first == UInt8(ascii: "{"), text.utf8.last == UInt8(ascii: "}") else {
                return nil
            }
            self.init(Array(text.utf8.dropFirst().dropLast()), at: nil)
        }

        /// The object, to be recorded.
        package var text: String { LineWriter.text { self.write(to: &$0) } }

        /// The same with the time left until then.
        fileprivate func counting(_ leftMs: Int64) -> Due {
            Due(self.fragment, at: self.at, leftMs: leftMs)
        }

        /// The object.
        fileprivate func write(to writer: inout LineWriter) {
            writer.text("{")
            writer.raw(self.fragment)
            if let at, self.fragment.isEmpty {
                writer.text("\"at\":\"")
                writer.time(at)
                writer.text("\"")
            } else if let at {
                writer.time(.at, at)
            }
            if let leftMs { writer.number(.leftMs, leftMs) }
            writer.text("}")
        }
    }
}

extension LineWriter {
    /// `seq`, `state`, `data`, `at` and `cursor`.
    mutating func report(_ report: ServerLine.Report) {
        self.report(
            report.seq,
            report.fragment,
            report.at,
            report.epoch,
            report.stay,
            report.due
        )
        self.stale(report)
    }

    /// How old what is reported may be, if it may be.
    mutating func stale(_ report: ServerLine.Report) {
        if let staleMs = report.staleMs { self.number(.staleMs, staleMs) }
    }

    /// The same: what is made only to be written would be copied.
    mutating func report(
        _ seq: UInt64,
        _ fragment: [UInt8],
        _ at: WallTime,
        _ epoch: Epoch,
        _ stay: UInt64?,
        _ due: ServerLine.Due?
    ) {
        self.position(seq, fragment)
        self.time(.at, at)
        self.cursor(.cursor, Cursor(epoch: epoch, seq: seq))
        if let stay { self.number(.stay, stay) }
        if let due { self.due(due) }
    }

    /// What time will do, and when.
    mutating func due(_ due: ServerLine.Due) {
        self.key(.due)
        due.write(to: &self)
    }

    /// A state's name, up to its data.
    mutating func state(_ name: String) {
        self.text("\"state\":")
        self.quoted(name)
        self.text(",\"data\":")
    }

    /// `seq`, `state` and `data`.
    mutating func position(of report: ServerLine.Report) {
        self.position(report.seq, report.fragment)
    }

    mutating func position(_ seq: UInt64, _ fragment: [UInt8]) {
        self.number(.seq, seq)
        self.text(",")
        self.raw(fragment)
    }
}
