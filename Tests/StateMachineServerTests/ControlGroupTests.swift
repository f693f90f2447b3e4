import Testing

@testable import StateMachineServer

/// The unit of a program, read off its control groups.
@Suite struct ControlGroupTests {
    @Test(arguments: [
        ("0::/system.slice/deploy.service\n", "deploy.service"),
        ("0::/system.slice/system-getty.slice/getty@tty1.service\n", "getty@tty1.service"),
        ("0::/user.slice/user-1000.slice/session-3.scope\n", "session-3.scope"),
        (
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.service\n",
            "user@1000.service/x.service"
        ),
        (
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-a.slice/x.scope\n",
            "user@1000.service/x.scope"
        ),
        (
            "0::/user.slice/user-1000.slice/user@1000.service/init.scope\n",
            "user@1000.service/init.scope"
        ),
        ("0::/user.slice/user-1000.slice/user@1000.service\n", "user@1000.service"),
        // Containers: the host's unit; what runs inside it is the container's own business.
        ("0::/system.slice/docker-0f.scope\n", "docker-0f.scope"),
        (
            "0::/machine.slice/machine-web.scope/payload/system.slice/nginx.service\n",
            "machine-web.scope"
        ),
        ("0::/../../system.slice/deploy.service\n", "deploy.service"),
        // Below a unit that has control groups of its own.
        ("0::/system.slice/deploy.service/worker\n", "deploy.service"),
        ("0::/system.slice/_cpu.service\n", "cpu.service"),
        // On a system with old control groups, and with both kinds.
        ("5:cpu:/x\n1:name=systemd:/system.slice/old.service\n", "old.service"),
        ("1:name=systemd:/a.slice/b.service\n0::/a.slice/c.service\n", "c.service"),
        ("0::/init.scope\n", "init.scope"),
    ])
    func theUnitIsTheFirstThatIsNoSlice(groups: String, unit: String) {
        #expect(ControlGroup.unit(in: groups) == unit)
    }

    @Test(arguments: [
        "", "0::/\n", "0::/docker/0f3b\n", "0::/system.slice\n", "0::\n",
        "5:cpu:/system.slice/x.service\n",
        "0::/system.slice/" + String(repeating: "a", count: 400) + ".service\n",
    ])
    func whatIsInNoUnitHasNone(groups: String) {
        #expect(ControlGroup.unit(in: groups) == nil)
    }
}
