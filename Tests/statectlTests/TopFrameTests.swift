import ArgumentParser
import DaemonScripts
import StateMachineClient
import StateMachineCore
import Testing

@testable import statectl

/// What the screen shows of machines, at small sizes.
@Suite struct TopFrameTests {
    private func view(
        _ data: String,
        cause: String,
        name: String? = nil,
        machine: String? = nil
    ) throws -> MachineView {
        let options = try SharedOptions.parse([])
        let mark = name.map { MachineMark.all([$0])[0] }
        var view = MachineView(MachineTarget(options: options, mark: mark))
        let state =
            #""state":"dim","data":{"note":\#(data)},"at":"2026-11-20T21:55:03.120007Z","#
            + #""cursor":"7f3a9c:41","by":{"uid":0,"pid":812,"comm":"deploy"},"cause":\#(cause)"#
        var status = MachineStatus(
            state: try Line.of(#"{"type":"reply","ok":true,"seq":41,\#(state)}"#),
            stats: try Line.of(
                #"""
                {"type":"reply","ok":true,"connections":[{"uid":0,"pid":9,"comm":"watch","watches":1,"lag":7}],\#
                "holds":[{"hold":3,"uid":0,"pid":5,"comm":"film","mode":"block","why":"the film","before":["dark"],\#
                "at":"2026-11-20T21:54:15.120007Z"}],\#
                "guards":[{"guard":4,"uid":0,"pid":6,"comm":"ask","timeoutMs":1000,"onTimeout":"allow",\#
                "allowed":2,"denied":1,"isAsked":true,"before":["dim"],"at":"2026-11-20T21:54:15.120007Z"}]}
                """#
            ),
            runner: nil
        )
        if let machine {
            status.describe(
                try Line.of(#"{"type":"reply","ok":true,"machine":"\#(machine)","states":[]}"#)
            )
        }
        view.answered(status)
        for seq in [40, 41, 39] {
            view.take(
                try Line.of(
                    #"{"type":"change","seq":\#(seq),"state":"dim","data":{"note":\#(data)},"#
                        + #""from":{"state":"dark","data":{}},"at":"2026-11-20T21:55:03.120007Z","#
                        + #""cursor":"7f3a9c:\#(seq)","cause":\#(cause),"#
                        + #""by":{"uid":0,"pid":812,"comm":"deploy"}}"#
                )
            )
        }
        return view
    }

    private func frame(_ views: [MachineView], _ columns: Int, _ rows: Int) -> [String] {
        TopFrame(text: .fixed(width: columns), size: .init(columns: columns, rows: rows)).lines(
            views
        )
    }

    @Test func aMachineIsShownWhole() throws {
        let view = try self.view(#""x""#, cause: #""login""#, machine: "lamp")
        #expect(
            self.frame([view], 80, 24) == [
                "lamp                                                           21:55:15  q quits",
                #"state      dim(note: x)   12 s ago   #41   by root (812, deploy)   login"#,
                "held       dark   hold 3 by root (5, film), for 60 s   the film",
                "guarded    dim",
                "           guard 4 by root (6, ask), for 60 s, allowed 2, denied 1, is asked now",
                "watching   root (9, watch)   7 behind",
                "last changes",
                "21:55:03.120  #41     dim(note: x)      was dark        by root (deploy)  login",
                "21:55:03.120  #40     dim(note: x)      was dark        by root (deploy)  login",
                "21:55:03.120  #39     dim(note: x)      was dark        by root (deploy)  login",
            ]
        )
    }

    @Test func aStateThatIsMarkedHasItsColour() throws {
        var view = try self.view(#""x""#, cause: "null")
        var status = try #require(view.status)
        status.describe(
            try Line.of(
                #"{"type":"reply","ok":true,"states":[{"state":"dark"},{"state":"dim","mark":"bad"}]}"#
            )
        )
        view.answered(status)
        let text = LineText.fixed(.coloured, width: 80)
        for views in [[view], [view, view]] {
            let lines = TopFrame(text: text, size: .init(columns: 80, rows: 24)).lines(views)
            #expect(lines[1].contains("\u{1B}[1;31mdim\u{1B}[0m"), "\(lines[1])")
        }
    }

    /// Whatever a state contains, no line is wider than the screen or has control characters, and
    /// there are no more lines than fit.
    @Test(arguments: [(80, 24), (40, 15), (20, 5), (9, 2), (1, 1)])
    func nothingGoesBeyondTheScreen(columns: Int, rows: Int) throws {
        let long = String(repeating: "word and ", count: 7000)
        let hostile = #""\u001b[2J\u001b]0;x\u0007<script>\r\n\u202e 漢字漢字""#
        let views = try [
            self.view("\"\(long)\"", cause: hostile), self.view(hostile, cause: "\"\(long)\""),
        ]
        let several = try [
            self.view(hostile, cause: hostile, name: "left"),
            self.view("\"\(long)\"", cause: hostile, name: "right"),
        ]
        for lines in [views.prefix(1), views.suffix(1), several[...]].map({
            self.frame(Array($0), columns, rows)
        }) {
            #expect(lines.count <= rows)
            #expect(lines.allSatisfy { $0.columns <= columns }, "\(lines)")
            #expect(lines.allSatisfy { $0.unicodeScalars.allSatisfy { !$0.isUnprintable } })
        }
    }

    @Test func severalMachinesHaveALineEach() throws {
        var gone = try self.view("1", cause: "\"x\"", name: "right")
        gone.failed(
            .refused(
                try Line.of(#"{"type":"reply","ok":false,"message":"nothing listens on /run/x"}"#)
            )
        )
        let lines = self.frame([try self.view("1", cause: "\"x\"", name: "left"), gone], 100, 24)
        #expect(lines[0].hasPrefix("2 machines "))
        #expect(
            lines[1].hasPrefix("left   dim(note: 1)   12 s ago   #41   by root (812, deploy)   x")
        )
        #expect(lines[2].hasPrefix("       held   dark   hold 3 by root (5, film)"))
        #expect(lines.contains { $0 == "right   gone: nothing listens on /run/x" })
    }
}
