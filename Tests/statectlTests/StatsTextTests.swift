import DaemonScripts
import StateMachineClient
import StateMachineCore
import Testing

@testable import statectl

@Suite struct StatsTextTests {
    private func reply() throws -> Line {
        try Line.of(
            #"""
            {"type":"reply","ok":true,"uptimeMs":123045,"counters":{"changes":1,"requests":2,\#
            "refusals":0,"accepted":3,"turnedAway":0,"resyncs":4,"bytes":45678},"connections":[\#
            {"uid":0,"pid":12,"door":"control","watches":1,"waits":0,"holds":0,"guards":0,"sets":0,\#
            "lag":0,"resyncs":0,"bytes":123},{"uid":1000,"pid":4711,"door":"events","watches":2,\#
            "waits":0,"holds":0,"guards":0,"sets":0,"lag":38,"resyncs":4,"bytes":45555}],"seq":5}
            """#
        )
    }

    @Test func countersAndConnectionsAreTablesForPeople() throws {
        #expect(
            LineText.fixed().stats(try self.reply()) == """
                who              door     watches  waits  holds  guards  lag  resyncs  bytes
                root (12)        control        1      0      0       0    0        0    123
                uid 1000 (4711)  events         2      0      0       0   38        4  45555

                changes                       1
                requests                      2
                refusals                      0
                connections accepted          3
                connections turned away       0
                resyncs                       4
                bytes sent                45678

                up 2 min, #5
                """
        )
    }

    private func metrics(
        stats: String? = nil,
        present: String = #"{"type":"reply","ok":true,"seq":5,"state":"idle","data":{}}"#,
        states: [String] = ["idle"],
        held: Set<String> = [],
        runner: String? = nil,
        missing: [String]? = nil,
        features: [String] = []
    ) throws -> String {
        let names = states.map { #"{"state":"\#($0)","fields":{}}"# }.joined(separator: ",")
        let description =
            #"{"type":"reply","ok":true,"states":[\#(names)],"machine":"ki\"osk","features":\#(features)}"#
        let sample = PrometheusText.Sample(
            instance: "hall",
            stats: try stats.map { try Line.of($0) } ?? self.reply(),
            description: try Line.of(description),
            present: try Line.of(present),
            held: held,
            runner: runner.flatMap { JSONValue(parsing: $0) }
        )
        return PrometheusText.text([sample], missing: missing)
    }

    /// The samples of a family, its labels of the machine left out.
    private func family(_ name: String, _ text: String) -> [String] {
        let labels = #"machine="ki\"osk",instance="hall""#
        return text.split(separator: "\n").filter { $0.hasPrefix("statemachine_\(name){\(labels)") }
            .map {
                String($0.dropFirst("statemachine_\(name){\(labels)".utf8.count))
            }
    }

    @Test func noNumberIsTooLargeForMetrics() throws {
        let rows = (1...3).map { _ in #"{"door":"events","watches":9223372036854775807,"lag":1}"# }
        let line = #"{"type":"reply","ok":true,"uptimeMs":-9223372036854775808,"connections":["#
        let text = try self.metrics(stats: line + rows.joined(separator: ",") + "]}")
        #expect(text.contains(#"statemachine_watches{machine="ki\"osk",instance="hall"} 2.767"#))
    }

    @Test func countersAndConnectionsAreMetrics() throws {
        let text = try self.metrics()
        for (name, samples) in [
            ("changes_total", ["} 1"]), ("requests_total", ["} 2"]), ("refusals_total", ["} 0"]),
            ("connections_accepted_total", ["} 3"]), ("resyncs_total", ["} 4"]),
            ("sent_bytes_total", ["} 45678"]), ("writes_total", []), ("watches", ["} 3"]),
            ("connections", [#",door="control"} 1"#, #",door="events"} 1"#]), ("lag_max", ["} 38"]),
            ("seq", ["} 5"]), ("uptime_seconds", ["} 123.045"]), ("up", []),
        ] {
            #expect(self.family(name, text) == samples, "\(name)")
        }
        #expect(
            text.contains(
                "# HELP statemachine_seq The number of the last change.\n# TYPE statemachine_seq gauge\n"
            )
        )
    }

    @Test func whatAHostCountsOfASharedMachineIsMetrics() throws {
        let text = try self.metrics(
            stats: #"""
                {"type":"reply","ok":true,"uptimeMs":1,"counters":{},"connections":[],"seq":5,"engine":{"up":false,\#
                "reason":"engine","staleMs":3120,"hosts":3,"connects":2,"overtaken":7,"tickets":1,"unsure":1,"sessionsLost":0,\#
                "caughtUp":9,"watchGaps":4,"epochs":1,"commits":{"us":[1000,250000],"counts":[5,2,1],"totalUs":1250000}}}
                """#
        )
        for (name, samples) in [
            ("engine_up", ["} 0"]), ("stale_seconds", ["} 3.120"]), ("hosts", ["} 3"]),
            ("connects_total", ["} 2"]), ("overtaken_total", ["} 7"]), ("tickets_total", ["} 1"]),
            ("unsure_total", ["} 1"]), ("session_lost_total", ["} 0"]),
            ("catch_up_changes_total", ["} 9"]), ("watch_gaps_total", ["} 4"]),
            ("epoch_changes_total", ["} 1"]),
            (
                "commit_seconds_bucket",
                [#",le="0.001"} 5"#, #",le="0.25"} 7"#, #",le="+Inf"} 8"#]
            ),
            ("commit_seconds_sum", ["} 1.250000"]), ("commit_seconds_count", ["} 8"]),
        ] {
            #expect(self.family(name, text) == samples, "\(name)")
        }
        #expect(text.contains("# TYPE statemachine_commit_seconds histogram\n"))
        #expect(!text.contains("TYPE statemachine_commit_seconds_sum"))
        #expect(try !self.metrics().contains("engine_up"))
    }

    @Test func theStateAndItsFieldsAreMetrics() throws {
        let text = try self.metrics(
            stats: #"""
                {"type":"reply","ok":true,"uptimeMs":1,"counters":{},"transitions":[\#
                {"from":"idle","to":"busy","count":7}],"connections":[],"seq":5}
                """#,
            present: #"""
                {"type":"reply","ok":true,"seq":5,"state":"busy","data":{"percent":42.5,"on":true,"title":"7",\#
                "placed":"1970-01-01T00:01:00.250000Z","vast":1e999,"list":[1]},"at":"1970-01-01T00:00:10.000000Z",\#
                "cursor":"a:5","due":{"state":"idle","data":{},"at":"1970-01-01T00:00:20.500000Z"}}
                """#,
            states: ["idle", "busy"],
            held: ["idle"],
            runner: #"""
                {"commands":[{"state":"busy","key":"run","runs":3,"failures":2,"seconds":1.5},\#
                {"state":"busy","key":"enter[0]","runs":1,"failures":1,"seconds":0}]}
                """#,
            missing: ["cellar"]
        )
        for (name, samples) in [
            ("state", [#",state="idle"} 0"#, #",state="busy"} 1"#]),
            ("state_since_timestamp_seconds", ["} 10.000000"]),
            ("due_timestamp_seconds", ["} 20.500000"]),
            ("held", [#",state="idle"} 1"#, #",state="busy"} 0"#]),
            (
                "field",
                [
                    #",state="busy",field="percent"} 42.5"#, #",state="busy",field="on"} 1"#,
                    #",state="busy",field="placed"} 60.250000"#,
                ]
            ),
            ("transitions_total", [#",from="idle",to="busy"} 7"#]),
            ("run_failures_total", [#",state="busy"} 2"#]),
        ] {
            #expect(self.family(name, text) == samples, "\(name)")
        }
    }

    /// A series is one by its labels, and what a machine is called is not known of one that does not answer.
    @Test func aMachineHasTheSameLabelsWhetherItAnswersOrNot() throws {
        let text = try self.metrics(missing: ["cellar"])
        let up = text.split(separator: "\n").filter { $0.hasPrefix("statemachine_up{") }
        #expect(
            up == [
                #"statemachine_up{instance="hall"} 1"#, #"statemachine_up{instance="cellar"} 0"#,
            ]
        )
    }

    @Test func theMarkOfThePresentStateIsOneOfThreeSeries() throws {
        let marked = #"idle","mark":"warn"},{"state":"busy"#
        let text = try self.metrics(states: [marked])
        #expect(
            self.family("mark", text) == [
                #",mark="good"} 0"#, #",mark="warn"} 1"#, #",mark="bad"} 0"#,
            ]
        )
        let other = try self.metrics(
            present: #"{"type":"reply","ok":true,"seq":5,"state":"busy","data":{}}"#,
            states: [marked]
        )
        #expect(self.family("mark", other).allSatisfy { $0.hasSuffix(" 0") })
        #expect(self.family("mark", try self.metrics()).isEmpty)
    }

    @Test func whatKeepsAMachineFromChangingIsAMetric() throws {
        let names = ["overdue_seconds", "own_moves_suspended", "changes_refused"]
        func metrics(_ obstacles: String, _ features: [String] = ["obstacles"]) throws -> [String] {
            let text = try self.metrics(
                stats:
                    #"{"type":"reply","ok":true,"uptimeMs":1,"counters":{},"connections":[],\#(obstacles)"seq":5}"#,
                features: features
            )
            return names.flatMap { self.family($0, text) }
        }
        let all = #""trouble":"disk full","suspended":{"moves":3},"overdue":{"ms":70250},"#
        #expect(try metrics(all) == ["} 70.250", "} 1", "} 1"])
        #expect(try metrics("") == ["} 0.000", "} 0", "} 0"])
        // A daemon that would not say so is not said to be well.
        #expect(try metrics("", []).isEmpty)
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
