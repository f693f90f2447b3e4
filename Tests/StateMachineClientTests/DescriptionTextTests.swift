import StateMachineClient
import Testing

@testable import statectl

@Suite struct DescriptionTextTests {
    @Test func aDescriptionIsATableForPeople() throws {
        let reply = try Line.of(
            #"""
            {"type":"reply","ok":true,"states":[{"state":"ready","fields":{"value":{"type":"boolean"}}},\#
            {"state":"idle","fields":{}},{"state":"authentication","fields":{"phase":{"type":"string",\#
            "values":["idle","active"]},"name":{"type":"string","optional":true}}}],\#
            "initial":{"state":"ready","data":{"value":false}},\#
            "transitions":{"ready":["idle"],"idle":[],"authentication":["ready","idle","authentication"]},\#
            "operations":["get","set"],"errors":["bad-json"],\#
            "limits":{"lineBytes":65536,"connections":512},"protocol":1,"version":"0.1.0"}
            """#
        )
        #expect(
            DescriptionText(style: .plain).text(reply) == """
                states
                  ready(value: boolean)                               initial; → idle
                  idle                                                → nothing
                  authentication(phase: idle|active, name: string?)   → any

                operations
                  get set

                limits
                  lineBytes     65536
                  connections   512

                version 0.1.0, protocol 1
                """
        )
    }

    @Test func aShortDescriptionIsShownAsFarAsItGoes() throws {
        let reply = try Line.of(#"{"type":"reply","ok":true,"states":[{"state":"on"}]}"#)
        #expect(
            DescriptionText(style: .plain).text(reply) == """
                states
                  on

                version ?, protocol ?
                """
        )
    }
}
