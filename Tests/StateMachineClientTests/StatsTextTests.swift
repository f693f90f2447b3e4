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
        let text = StatsText(
            text: LineText(
                style: .plain,
                now: WallTime(microseconds: 0),
                userName: { $0 == 0 ? "root" : nil },
                localTime: { _ in nil }
            )
        )
        #expect(
            text.text(try self.reply()) == """
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

    @Test func noNumberIsTooLargeForMetrics() throws {
        let rows = (1...3).map { _ in #"{"door":"events","watches":9223372036854775807,"lag":1}"# }
        let line = #"{"type":"reply","ok":true,"uptimeMs":-9223372036854775808,"connections":["#
        let text = PrometheusText.text(try Line.of(line + rows.joined(separator: ",") + "]}"))
        #expect(text.contains("statemachine_watches 2.767"))
    }

    @Test func countersAndConnectionsAreMetrics() throws {
        #expect(
            PrometheusText.text(try self.reply()) == """
                # HELP statemachine_changes_total Changes of the state.
                # TYPE statemachine_changes_total counter
                statemachine_changes_total 1
                # HELP statemachine_requests_total Requests received.
                # TYPE statemachine_requests_total counter
                statemachine_requests_total 2
                # HELP statemachine_refusals_total Requests refused.
                # TYPE statemachine_refusals_total counter
                statemachine_refusals_total 0
                # HELP statemachine_connections_accepted_total Connections accepted.
                # TYPE statemachine_connections_accepted_total counter
                statemachine_connections_accepted_total 3
                # HELP statemachine_connections_turned_away_total Connections turned away at a limit.
                # TYPE statemachine_connections_turned_away_total counter
                statemachine_connections_turned_away_total 0
                # HELP statemachine_resyncs_total Lines that told a reader of missed changes.
                # TYPE statemachine_resyncs_total counter
                statemachine_resyncs_total 4
                # HELP statemachine_sent_bytes_total Bytes sent.
                # TYPE statemachine_sent_bytes_total counter
                statemachine_sent_bytes_total 45678
                # HELP statemachine_connections Open connections.
                # TYPE statemachine_connections gauge
                statemachine_connections{door="control"} 1
                statemachine_connections{door="events"} 1
                # HELP statemachine_watches Watches on all connections.
                # TYPE statemachine_watches gauge
                statemachine_watches 3
                # HELP statemachine_lag_max Changes that the slowest watch is behind.
                # TYPE statemachine_lag_max gauge
                statemachine_lag_max 38
                # HELP statemachine_seq The number of the last change.
                # TYPE statemachine_seq gauge
                statemachine_seq 5
                # HELP statemachine_uptime_seconds Seconds since the daemon's start.
                # TYPE statemachine_uptime_seconds gauge
                statemachine_uptime_seconds 123.045
                """
        )
    }
}
