import Glibc
import NIOCore
import NIOPosix

/// Calls back once the event loop has polled for input.
///
/// A loop first runs the jobs it was given, and those that they add, and only then polls. What is
/// to run after the poll has to arrive as input itself: as a byte, through a pipe.
///
/// Belongs to the event loop.
final class LoopBell {
    private let descriptor: CInt
    private var isRung = false
    private var isClosed = false
    private var body: () -> Void = {}

    private init(descriptor: CInt) {
        self.descriptor = descriptor
    }

    /// Makes a bell on the one loop of `group`.
    static func make(on group: any EventLoopGroup) async throws -> NIOLoopBound<LoopBell> {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw DaemonError(cannot: "create a pipe", errno: errno)
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let (input, output) = (ends[0], ends[1])
        let loop = group.next()
        let bell = try await loop.submit {
            NIOLoopBound(LoopBell(descriptor: output), eventLoop: loop)
        }.get()
        do {
            _ = try await NIOPipeBootstrap(group: loop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Clapper(bell.value))
                    }
                }
                .takingOwnershipOfDescriptor(input: input)
                .get()
        } catch {
            Glibc.close(input)
            Glibc.close(output)
            throw error
        }
        return bell
    }

    func onRing(_ body: @escaping () -> Void) { self.body = body }

    func ring() {
        guard !self.isRung, !self.isClosed else { return }
        self.isRung = true
        var byte: UInt8 = 0
        // The pipe is empty, so it has room for one byte.
        _ = write(self.descriptor, &byte, 1)
    }

    func close() {
        guard !self.isClosed else { return }
        self.isClosed = true
        self.body = {}
        Glibc.close(self.descriptor)
    }

    private func rang() {
        guard self.isRung else { return }
        self.isRung = false
        self.body()
    }

    private final class Clapper: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let bell: LoopBell

        init(_ bell: LoopBell) {
            self.bell = bell
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { self.bell.rang() }
    }
}
