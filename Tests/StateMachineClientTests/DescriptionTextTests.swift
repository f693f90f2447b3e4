import StateMachineClient
import Testing

@testable import statectl

@Suite struct DescriptionTextTests {
    private static let reply = #"""
        {"type":"reply","ok":true,"states":[{"state":"ready","fields":{"value":{"type":"boolean"},"level":{"type":"integer","min":1,"max":100}},\#
        "when":{"press":"idle","move":"stay"},"after":{"ms":30000,"state":"idle"}},\#
        {"state":"idle","fields":{}},{"state":"authentication","fields":{"phase":{"type":"string",\#
        "values":["idle","active"]},"name":{"type":"string","optional":true}}}],\#
        "initial":{"state":"ready","data":{"value":false}},\#
        "transitions":{"ready":["idle"],"idle":[],"authentication":["ready","idle","authentication"]},\#
        "events":{"press":{},"move":{"by":{"type":"string","max":20}}},\#
        "operations":["get","set"],"errors":["bad-json"],\#
        "limits":{"lineBytes":65536,"connections":512},"protocol":1,"version":"0.1.0"}
        """#

    @Test func aDescriptionHasStatesWithFieldsMovesAndTimes() throws {
        #expect(
            DescriptionText(style: .plain).text(try Line.of(Self.reply)) == """
                ready  (start)
                  value: boolean
                  level: integer 1–100
                  move: stay
                  press, ◷ after 30s, set → idle

                idle

                authentication
                  phase: idle|active
                  name: string?
                  set → any

                events
                  press
                  move(by: string ≤ 20 bytes)

                version 0.1.0, protocol 1; operations and limits: --limits
                """
        )
    }

    @Test func limitsAreShownWhereTheyAreAskedFor() throws {
        let text = DescriptionText(style: .plain).text(try Line.of(Self.reply), withLimits: true)
        #expect(
            text.hasSuffix(
                """
                operations
                  get set

                limits
                  lineBytes     65536
                  connections   512

                version 0.1.0, protocol 1
                """
            )
        )
    }

    @Test func aShortDescriptionIsShownAsFarAsItGoes() throws {
        let reply = try Line.of(#"{"type":"reply","ok":true,"states":[{"state":"on"}]}"#)
        #expect(
            DescriptionText(style: .plain).text(reply) == """
                on  (start)

                version ?, protocol ?; operations and limits: --limits
                """
        )
    }
}
