package import Testing

extension Trait where Self == TimeLimitTrait {
    /// Ends a test that hangs.
    ///
    /// 5 min: the longest takes a tenth of that when nothing else runs, and two programs that want
    /// both processors make it three times as long. contrib/check runs twelve tests at a time; all
    /// at once, each would take nearly as long as all of them.
    package static var bounded: Self { .timeLimit(.minutes(5)) }
}

/// How long, in milliseconds, a test waits for another process or thread.
///
/// 1 min: hundreds of times what anything takes that is waited for, and so short that a wait in vain
/// says what for before its test is ended.
package let longestWait: CInt = 60_000
