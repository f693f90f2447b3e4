package import Testing

extension Trait where Self == TimeLimitTrait {
    /// Ends a test that hangs.
    ///
    /// 20 min: tests begin together, so each takes nearly as long as all of them: three minutes
    /// when nothing else runs, seven when two other programs want both processors.
    package static var bounded: Self { .timeLimit(.minutes(20)) }
}

/// How long, in milliseconds, a test waits for another process or thread.
///
/// Half of ``Trait/bounded``, so that a wait in vain can still say what for.
package let longestWait: CInt = 600_000
