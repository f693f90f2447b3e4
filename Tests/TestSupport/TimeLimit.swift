package import Testing

extension Trait where Self == TimeLimitTrait {
    /// Ends a test that stands still.
    ///
    /// 20 min: tests begin together, so that each takes nearly as long as all of them do: three minutes
    /// where nothing else runs, seven where two other programs want both processors.
    package static var bounded: Self { .timeLimit(.minutes(20)) }
}

/// How long, in milliseconds, a test waits for what another process or thread is to do.
///
/// Half of what ``Trait/bounded`` gives, so that who waited in vain can say for what.
package let longestWait: CInt = 600_000
