import Glibc
import Testing

@testable import statectl

@Suite struct ProgramsTests {
    @Test(arguments: [
        ("0::/system.slice/deploy.service\n", "deploy.service"),
        (
            "12:pids:/a.service\n0::/user.slice/user-1.slice/user@1.service/app.slice/b.service\n",
            "b.service"
        ),
        ("0::/system.slice/system-x.slice/x@1.service/sub\n", "x@1.service"),
        ("0::/user.slice/user-1.slice/session-2.scope\n", nil), ("", nil),
    ])
    func aServiceIsFoundInAControlGroupsPath(groups: String, service: String?) {
        #expect(Programs.service(in: groups) == service)
    }

    @Test func aProcessOfSomebodyElseHasNoName() {
        #expect(Programs.names(pid: getpid(), uid: getuid()) != [])
        #expect(Programs.names(pid: getpid(), uid: getuid() + 1) == [])
        #expect(Programs.names(pid: .max, uid: getuid()) == [])
    }
}
