package import StateMachineCore

/// Which old transitions are wanted, and from which end.
package struct TransitionQuery: Hashable, Sendable {
    /// Only those after this seq.
    package var after: UInt64
    /// Only those before this seq.
    package var before: UInt64
    /// Whether the newest comes first.
    package var isNewestFirst: Bool
    /// Only those that lead to a state that one of these lists selects; nil: to any.
    package var only: [PatternList]?
    /// Only those of this origin.
    package var origin = Origin()
    /// How many at most are to be in an outline of all of them, the oldest first; nil: no outline is
    /// wanted.
    package var outlined: Int?

    /// All transitions between two others.
    package init(after: UInt64, before: UInt64, isNewestFirst: Bool = false) {
        self.after = after
        self.before = before
        self.isNewestFirst = isNewestFirst
    }

    /// Whether it selects among the transitions between the two ends.
    package var isSelective: Bool { self.only != nil || self.origin != Origin() }

    /// The names of all states that may be wanted, former ones too; nil if that is unknown.
    package var names: [String]? {
        self.only?.reduce(.some([])) { names, list in
            names.flatMap { names in list.names.map { names + $0 } }
        }
    }

    /// Who or what requested transitions, and why.
    package struct Origin: Hashable, Sendable {
        /// This user; nil: anyone, including the process itself.
        package var uid: UInt32?
        /// A command or a unit of this name; nil: any.
        package var program: String?
        /// A cause that contains this text, byte for byte; nil: any cause.
        package var cause: String?

        /// Anyone, for any reason.
        package init() {}

        /// Whether that is such an origin.
        package func includes(_ by: Peer?, _ cause: String?) -> Bool {
            if let uid, by?.uid != uid { return false }
            if let program, by?.runs(program) != true { return false }
            return self.cause.map { cause?.holds($0) ?? false } ?? true
        }
    }
}

/// The first few transitions that a query asks for.
package struct TransitionFinding: Sendable {
    /// In the order requested; none if an outline is wanted.
    package var transitions: [RecordedTransition]
    /// All that were examined, if an outline is wanted.
    package var outline: TransitionOutline?
    /// The first transition that there is between the query's ends, wanted or not; the end itself if
    /// there is none.
    ///
    /// What lies before it is missing.
    package var first: UInt64
    /// The last transition that was examined, wanted or not; for what is wanted beyond it, query
    /// again.
    ///
    /// None is missing from the first to this one; it is the one before the query's end if nothing is
    /// left.
    package var examined: UInt64

    /// What was found, and between which two transitions all were examined.
    package init(_ transitions: [RecordedTransition], first: UInt64, examined: UInt64) {
        self.transitions = transitions
        self.first = first
        self.examined = examined
    }

    /// An outline, of all that were examined.
    package init(_ outline: TransitionOutline) {
        self.init([], first: outline.first, examined: outline.examined)
        self.outline = outline
    }

    /// Nothing, since there is nothing between the query's ends.
    package init(nothingFor query: TransitionQuery) {
        self =
            query.isNewestFirst
            ? Self([], first: query.after, examined: query.after + 1)
            : Self([], first: query.before, examined: query.before - 1)
    }
}

extension Peer {
    /// Whether that is the name of the command, or of the unit, or of a user's unit without the
    /// manager before it.
    package func runs(_ program: String) -> Bool {
        guard self.comm != program, self.unit != program else { return true }
        return self.unit?.split(separator: "/", maxSplits: 1).last.map { $0 == program } ?? false
    }
}

extension String {
    /// Whether it contains the bytes of `text`.
    package func holds(_ text: String) -> Bool {
        var rest = self.utf8[...]
        let wanted = text.utf8
        while rest.count >= wanted.count {
            if rest.starts(with: wanted) { return true }
            rest = rest.dropFirst()
        }
        return false
    }
}
