import StateMachineClient

extension SharedOptions {
    /// The answer to a request that changes the machine, if it is yes; ends the command if it is not.
    func answer(to request: Request) async throws -> Line {
        let reply: Line
        do {
            // Without a limit: guards are asked, and holds may last.
            reply = try await self.client.reply(to: request, within: nil)
        } catch ClientError.lost(let path) {
            StandardError.write(
                "statectl: the connection to \(path) was lost before the answer; "
                    + "whether the state was changed is not known: statectl get"
            )
            throw ExitStatus.lost
        }
        guard reply.isOK == true else { try self.refuse(reply) }
        return reply
    }
}
