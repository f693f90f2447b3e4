import StateMachineProtocol
import Testing

@Suite struct NearestNameTests {
    /// An end that was left out, letters that were swapped, a letter that is wrong, another word.
    @Test(
        arguments: [
            ("stat", "state"), ("stya", "stay"), ("staz", "stay"), ("cursors", "cursor"),
            ("nothing", nil),
        ] as [(String, String?)]
    )
    func whatWasMeantIsFound(name: String, meant: String?) {
        #expect(NearestName.of(name, among: ["stay", "state", "seq", "cursor"]) == meant)
    }
}
