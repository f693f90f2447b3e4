import Subprocess
import SystemPackage

/// Has Graphviz make a picture of a graph.
enum Graphviz {
    /// The most bytes of a picture.
    ///
    /// 16 MiB: a hundred times what the largest machine takes.
    private static let pictureBytes = 16 << 20

    /// The picture as SVG.
    static func picture(of graph: String) async throws -> String {
        let picture: String?
        do {
            let result = try await Subprocess.run(
                .name("dot"),
                arguments: ["-Tsvg"],
                input: .string(graph),
                output: .string(limit: Self.pictureBytes),
                error: .discarded
            )
            picture = result.terminationStatus.isSuccess ? result.standardOutput : nil
        } catch {
            StandardError.write(
                "statectl: cannot run dot; install the package graphviz, or take another --format"
            )
            throw ExitStatus.no
        }
        guard let picture else {
            StandardError.write("statectl: dot could not draw the machine; take another --format")
            throw ExitStatus.no
        }
        return picture
    }
}
