// swift-tools-version: 6.2

import PackageDescription

// A package of its own, because the daemon does not depend on what the comparison needs.
let package = Package(
    name: "benchmarks",
    dependencies: [
        .package(name: "statemachine", path: "../.."),
        .package(url: "https://github.com/apple/swift-async-algorithms.git", from: "1.1.4"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    ],
    targets: [
        .target(name: "CAllocations"),
        .executableTarget(
            name: "CoreBenchmark",
            dependencies: [
                "CAllocations",
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
                .product(name: "OpenCombine", package: "OpenCombine"),
                .product(name: "StateMachineCore", package: "statemachine"),
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        .executableTarget(
            name: "own-daemon",
            dependencies: [.product(name: "StateMachineEmbedding", package: "statemachine")],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
    ]
)
