import ArgumentParser
import StateMachineClient
import StateMachineCore

/// The option of commands that can be about several machines.
struct SeveralMachines: ParsableArguments {
    @Flag(help: "All machines that statectl machines lists, each line with the machine's name.")
    var all = false

    /// The machines that the command is about, one at least.
    ///
    /// - Throws: `ValidationError`, or ``ClientError/notFound(tried:)`` if there is none.
    func targets(_ options: SharedOptions) throws -> [MachineTarget] {
        guard self.all else {
            guard options.machine.count > 1 else {
                return [MachineTarget(options: options, mark: nil)]
            }
            let names = options.machine
            return zip(names, MachineMark.all(names)).map { name, mark in
                MachineTarget(options: options.narrowed { $0.machine = [name] }, mark: mark)
            }
        }
        guard options.machine.isEmpty, options.runtimeDirectory == nil else {
            throw ValidationError(
                "--all is about every machine; leave --machine and --runtime-directory out"
            )
        }
        let instances = Instance.all()
        guard !instances.isEmpty else { throw ClientError.notFound(tried: Instance.places) }
        return zip(instances, MachineMark.all(instances.map(\.name))).map { instance, mark in
            MachineTarget(
                options: options.narrowed { $0.runtimeDirectory = instance.directory.path },
                mark: mark
            )
        }
    }
}

/// One of the machines that a command is about.
struct MachineTarget: Sendable {
    /// The command's options, as if they named that machine alone.
    let options: SharedOptions
    /// The mark of its lines; nil if there is only one machine.
    let mark: MachineMark?

    func print(_ line: Line, as text: (LineText) -> String) throws {
        if self.options.json {
            try StandardOutput.offer(self.mark?.marked(json: line.text) ?? line.text)
        } else {
            let shown = text(self.options.text)
            try StandardOutput.offer(self.mark?.marked(text: shown, self.options.text) ?? shown)
        }
    }
}

extension [MachineTarget] {
    /// Does the same for each machine; one of several that cannot be asked does not stop the rest.
    ///
    /// - Throws: the first error, once it has been reported.
    func each(_ body: (MachineTarget) async throws -> Void) async throws {
        var end: ExitStatus?
        for target in self {
            guard let mark = target.mark else { return try await body(target) }
            do {
                try await body(target)
            } catch ClientError.refused(let reply) {
                try target.options.refuse(reply)
            } catch let error as ClientError {
                StandardError.write("statectl: \(mark.name): \(error.description.printable)")
                end = end ?? ExitStatus(error)
            }
        }
        if let end { throw end }
    }
}

extension SharedOptions {
    fileprivate func narrowed(_ body: (inout SharedOptions) -> Void) -> SharedOptions {
        var options = self
        (options.machine, options.runtimeDirectory) = ([], nil)
        body(&options)
        return options
    }
}
