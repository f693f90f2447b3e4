import StateMachineDeclaration
import TestSupport
import Testing

@testable import statectl

@Suite struct DiagramTests {
    @Test func lanesLeadFromEachWayToItsState() throws {
        let reading = DeclarationReading(Array(drawnLamp.utf8))
        var drawing = Drawing(try #require(reading.declaration), present: "burning")
        drawing.note(["off-now": .held, "burning": .guarded])
        drawing.note([
            DrawingWay(from: "off-now", to: "burning"): (12, "3 min"),
            DrawingWay(from: "broken", to: "burning"): (1, nil),
            DrawingWay(from: "off-now", to: "gone"): (7, "1 s"),
        ])
        func text(_ width: Int?) -> String? {
            Diagram(drawing, width: width)?.rows.map { $0.text(.plain) }.joined(separator: "\n")
        }
        #expect(
            text(nil) == """
                ○ off-now (start; held; in all) ◀─────────────┐
                    look: ignore                              │
                    press → burning  12 ×, 3 min ─────────────┼─┐
                    set ↺  never                              │ │
                ● burning (present; guarded; in all) ◀────────┼─┤
                    level: low|high = low                     │ │
                    note: string?                             │ │
                    enter: /bin/light {level}                 │ │
                    look: stay                                │ │
                    press, ◷ after 1h, set → off-now  never ╌╌┘ │
                ○ broken (final)                                │
                    set → burning  1 × ─────────────────────────┘
                    set → any
                """
        )
        // With less room, only the lanes show where it leads.
        #expect(text(48)?.contains("    press  12 ×, 3 min ───") == true)
        // No row is wider than the terminal.
        let rows = try #require(text(40)).split(separator: "\n")
        #expect(rows.allSatisfy { $0.count <= 40 }, "\(rows)")
        #expect(text(18) == nil)
    }

    @Test func lanesStandBesideWideLetters() throws {
        let lamp = drawnLamp.replacing("/bin/light", with: "/bin/燈光")
        let drawing = Drawing(try #require(DeclarationReading(Array(lamp.utf8)).declaration))
        let rows = try #require(Diagram(drawing, width: nil)?.rows.map { $0.text(.plain) })
        let ends = rows.filter { $0.contains("enter: ") || $0.contains("note: ") }
        #expect(ends.count == 2 && ends.allSatisfy { $0.hasSuffix("│") }, "\(rows)")
        #expect(Set(ends.map(\.columns)).count == 1, "\(rows)")
    }
}
