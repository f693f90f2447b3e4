// swift-tools-version: 6.2

import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

/// As in the package that a reader of docs/embed.md has.
let example: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]

extension Target.Dependency {
    /// What the core does without: whoever wants that alone asks for no traits, and resolves none of it.
    static func daemon(_ product: String, of package: String) -> Self {
        .product(name: product, package: package, condition: .when(traits: ["Daemon"]))
    }

    /// What only the engine of a shared machine needs.
    static func cluster(_ product: String, of package: String) -> Self {
        .product(name: product, package: package, condition: .when(traits: ["Cluster"]))
    }
}

let package = Package(
    name: "statemachine",
    // Of the core, the protocol and the test kit; the rest is for Linux.
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "StateMachineCore", targets: ["StateMachineCore"]),
        .library(name: "StateMachineProtocol", targets: ["StateMachineProtocol"]),
        .library(name: "StateMachineDeclaration", targets: ["StateMachineDeclaration"]),
        .library(name: "StateMachineServer", targets: ["StateMachineServer"]),
        .library(name: "StateMachineHistory", targets: ["StateMachineHistory"]),
        .library(name: "StateMachineEmbedding", targets: ["StateMachineEmbedding"]),
        .library(name: "StateMachineClient", targets: ["StateMachineClient"]),
        .library(name: "StateMachineTesting", targets: ["StateMachineTesting"]),
        .executable(name: "statemachine", targets: ["statemachine"]),
        .executable(name: "statemachine-cluster", targets: ["statemachine-cluster"]),
        .executable(name: "statectl", targets: ["statectl"]),
        .executable(name: "statemachine-runner", targets: ["statemachine-runner"]),
        .executable(name: "statemachine-web", targets: ["statemachine-web"]),
    ],
    traits: [
        .default(enabledTraits: ["Daemon"]),
        .trait(
            name: "Daemon",
            description: "Resolve what all but the core, the protocol and the test kit need."
        ),
        .trait(
            name: "Web",
            description: "Build statemachine-web, the page, which brings Hummingbird.",
            enabledTraits: ["Daemon"]
        ),
        .trait(
            name: "Cluster",
            description: "Build the client of etcd, for a machine on many hosts: HTTP/2 and TLS.",
            enabledTraits: ["Daemon"]
        ),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // Of the page alone, as Hummingbird is.
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        // Of a machine on many hosts alone. Before 1.46 there is no limit on control frames to be lifted.
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
        // Of the page alone, and without traits: settings and files are read by our own code.
        .package(
            url: "https://github.com/hummingbird-project/hummingbird",
            from: "2.28.1",
            traits: []
        ),
    ],
    targets: [
        .systemLibrary(
            name: "CSystemd",
            pkgConfig: "libsystemd",
            providers: [.apt(["libsystemd-dev"])]
        ),
        .target(
            name: "Systemd",
            dependencies: ["CSystemd"],
            swiftSettings: strict
        ),
        .systemLibrary(
            name: "CLibSQLite",
            pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"])]
        ),
        .target(
            name: "StateMachineSQLite",
            dependencies: ["CLibSQLite"],
            swiftSettings: strict
        ),
        .systemLibrary(
            name: "CLibYAML",
            pkgConfig: "yaml-0.1",
            providers: [.apt(["libyaml-dev"])]
        ),
        .target(
            name: "StateMachineYAML",
            dependencies: ["CLibYAML"],
            swiftSettings: strict
        ),
        .systemLibrary(name: "CPlatform"),
        .target(
            name: "Processes",
            dependencies: ["CPlatform", .daemon("SystemPackage", of: "swift-system")],
            swiftSettings: strict
        ),
        .target(
            name: "StateMachineCore",
            dependencies: ["CPlatform"],
            swiftSettings: strict
        ),
        .target(
            name: "StateMachineProtocol",
            dependencies: ["CPlatform", "StateMachineCore"],
            swiftSettings: strict
        ),
        .target(
            name: "StateMachineDeclaration",
            dependencies: [
                "CPlatform",
                "Processes",
                "StateMachineCore",
                "StateMachineProtocol",
                "StateMachineYAML",
                .daemon("SystemPackage", of: "swift-system"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "ServiceLog",
            dependencies: [
                "StateMachineCore",
                "Systemd",
                .daemon("Logging", of: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "StateMachineServer",
            dependencies: [
                "Processes",
                "ServiceLog",
                "StateMachineCore",
                "StateMachineProtocol",
                "Systemd",
                .daemon("Logging", of: "swift-log"),
                .daemon("Metrics", of: "swift-metrics"),
                .daemon("NIOConcurrencyHelpers", of: "swift-nio"),
                .daemon("NIOCore", of: "swift-nio"),
                .daemon("NIOPosix", of: "swift-nio"),
                .daemon("ServiceLifecycle", of: "swift-service-lifecycle"),
                .daemon("UnixSignals", of: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "StateMachineHistory",
            dependencies: [
                "CPlatform",
                "Processes",
                "StateMachineCore",
                "StateMachineProtocol",
                "StateMachineSQLite",
            ],
            swiftSettings: strict
        ),
        .target(
            name: "StateMachineClient",
            dependencies: [
                "Processes",
                "StateMachineCore",
                "StateMachineProtocol",
                .daemon("NIOCore", of: "swift-nio"),
                .daemon("NIOPosix", of: "swift-nio"),
                .daemon("SystemPackage", of: "swift-system"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "StateMachineEtcd",
            dependencies: [
                "StateMachineCore",
                "StateMachineProtocol",
                .cluster("NIOCore", of: "swift-nio"),
                .cluster("NIOHPACK", of: "swift-nio-http2"),
                .cluster("NIOHTTP2", of: "swift-nio-http2"),
                .cluster("NIOPosix", of: "swift-nio"),
                .cluster("NIOSSL", of: "swift-nio-ssl"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "StateMachineRunner",
            dependencies: [
                "Processes",
                "StateMachineClient",
                "StateMachineCore",
                "StateMachineDeclaration",
                "StateMachineProtocol",
                "Systemd",
                .daemon("Logging", of: "swift-log"),
                .daemon("SystemPackage", of: "swift-system"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "statemachine-runner",
            dependencies: [
                "Processes",
                "ServiceLog",
                "StateMachineClient",
                "StateMachineCore",
                "StateMachineDeclaration",
                "StateMachineProtocol",
                "StateMachineRunner",
                "Systemd",
                .daemon("ArgumentParser", of: "swift-argument-parser"),
                .daemon("Logging", of: "swift-log"),
                .daemon("NIOCore", of: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "StateMachineEmbedding",
            dependencies: [
                "Processes",
                "ServiceLog",
                "StateMachineCore",
                "StateMachineHistory",
                "StateMachineProtocol",
                "StateMachineServer",
                "StateMachineYAML",
                .daemon("ArgumentParser", of: "swift-argument-parser"),
                .daemon("Logging", of: "swift-log"),
                .daemon("SystemPackage", of: "swift-system"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "StateMachineLinks",
            dependencies: [
                "StateMachineClient",
                "StateMachineCore",
                "StateMachineProtocol",
                "StateMachineServer",
                .daemon("NIOCore", of: "swift-nio"),
                .daemon("NIOPosix", of: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "DeclaredDaemon",
            dependencies: [
                "StateMachineCore",
                "StateMachineDeclaration",
                "StateMachineEmbedding",
                "StateMachineLinks",
                "StateMachineProtocol",
                "StateMachineServer",
                .daemon("Logging", of: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "statemachine",
            dependencies: [
                "DeclaredDaemon",
                "StateMachineCore",
                "StateMachineEmbedding",
                .daemon("ArgumentParser", of: "swift-argument-parser"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "statemachine-cluster",
            dependencies: [
                "DeclaredDaemon",
                "Processes",
                "StateMachineCore",
                "StateMachineEmbedding",
                "StateMachineEtcd",
                "StateMachineProtocol",
                .daemon("ArgumentParser", of: "swift-argument-parser"),
                .daemon("Logging", of: "swift-log"),
                .cluster("NIOCore", of: "swift-nio"),
                .cluster("NIOPosix", of: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "statectl",
            dependencies: [
                "Processes",
                "StateMachineClient",
                "StateMachineCore",
                "StateMachineDeclaration",
                "StateMachineSQLite",
                .daemon("ArgumentParser", of: "swift-argument-parser"),
                .daemon("NIOCore", of: "swift-nio"),
                .daemon("SystemPackage", of: "swift-system"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "StateMachineWeb",
            dependencies: [
                "StateMachineClient",
                "StateMachineCore",
                "StateMachineDeclaration",
                "StateMachineProtocol",
                "Systemd",
                .daemon("Logging", of: "swift-log"),
                .daemon("NIOCore", of: "swift-nio"),
                .daemon("NIOPosix", of: "swift-nio"),
                .product(
                    name: "HTTPTypes",
                    package: "swift-http-types",
                    condition: .when(traits: ["Web"])
                ),
                .product(
                    name: "NIOHTTP1",
                    package: "swift-nio",
                    condition: .when(traits: ["Web"])
                ),
                .product(
                    name: "HummingbirdCore",
                    package: "hummingbird",
                    condition: .when(traits: ["Web"])
                ),
            ],
            resources: [
                .embedInCode("Page/page.css"),
                .embedInCode("Page/page.html"),
                .embedInCode("Page/page.js"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "statemachine-web",
            dependencies: [
                "Processes",
                "ServiceLog",
                "StateMachineClient",
                "StateMachineCore",
                "StateMachineProtocol",
                "StateMachineWeb",
                "Systemd",
                .daemon("ArgumentParser", of: "swift-argument-parser"),
                .daemon("Logging", of: "swift-log"),
                .daemon("UnixSignals", of: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "StateMachineTesting",
            dependencies: ["StateMachineCore"],
            swiftSettings: strict
        ),
        // The examples that embed the daemon, which contrib/examples/run tries; a package of one's
        // own builds the kiosk with contrib/examples/kiosk/Package.swift.
        .executableTarget(
            name: "kiosk",
            dependencies: ["StateMachineEmbedding"],
            path: "contrib/examples/kiosk/Sources/kiosk",
            swiftSettings: example
        ),
        .executableTarget(
            name: "kiosk-next",
            dependencies: ["StateMachineEmbedding"],
            path: "contrib/examples/kiosk/Sources/kiosk-next",
            swiftSettings: example
        ),
        .executableTarget(
            name: "kiosk-by-hand",
            dependencies: ["StateMachineCore", "StateMachineHistory", "StateMachineServer"],
            path: "contrib/examples/kiosk/Sources/kiosk-by-hand",
            swiftSettings: example
        ),
        .target(
            name: "TestSupport",
            dependencies: [
                "StateMachineCore",
                .daemon("Subprocess", of: "swift-subprocess"),
                .daemon("SystemPackage", of: "swift-system"),
            ],
            path: "Tests/TestSupport",
            swiftSettings: strict
        ),
        .target(name: "CAllocations", path: "Tests/CAllocations"),
        .target(name: "CFailingSync", dependencies: ["CLibSQLite"], path: "Tests/CFailingSync"),
        .target(
            name: "DaemonScripts",
            dependencies: [
                "StateMachineClient",
                "TestSupport",
                .daemon("NIOCore", of: "swift-nio"),
                .daemon("NIOPosix", of: "swift-nio"),
            ],
            path: "Tests/DaemonScripts",
            swiftSettings: strict
        ),
        .testTarget(
            name: "StateMachineCoreTests",
            dependencies: [
                "CAllocations", "StateMachineCore", "StateMachineTesting", "TestSupport",
            ],
            exclude: ["GateScripts"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StateMachineProtocolTests",
            dependencies: [
                "CAllocations", "StateMachineCore", "StateMachineProtocol", "TestSupport",
            ],
            resources: [.copy("Fixtures")],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StateMachineDeclarationTests",
            dependencies: [
                "StateMachineCore",
                "StateMachineDeclaration",
                "StateMachineProtocol",
                "TestSupport",
            ],
            resources: [.copy("Fixtures")],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SystemdTests",
            dependencies: ["CSystemd", "Systemd", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ServiceLogTests",
            dependencies: [
                "ServiceLog",
                "TestSupport",
                .daemon("Logging", of: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StateMachineServerTests",
            dependencies: [
                "CAllocations",
                "StateMachineCore",
                "StateMachineDeclaration",
                "StateMachineHistory",
                "StateMachineProtocol",
                "StateMachineSQLite",
                "StateMachineServer",
                "Systemd",
                "TestSupport",
                .daemon("Logging", of: "swift-log"),
                .daemon("NIOCore", of: "swift-nio"),
                .daemon("NIOPosix", of: "swift-nio"),
                .daemon("ServiceLifecycle", of: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StateMachineHistoryTests",
            dependencies: [
                "CFailingSync",
                "StateMachineCore",
                "StateMachineDeclaration",
                "StateMachineHistory",
                "StateMachineProtocol",
                "StateMachineSQLite",
                "TestSupport",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StateMachineClientTests",
            dependencies: [
                "DaemonScripts",
                "StateMachineClient",
                "StateMachineCore",
                "StateMachineProtocol",
                "StateMachineTesting",
                "TestSupport",
                .daemon("NIOCore", of: "swift-nio"),
                .daemon("NIOEmbedded", of: "swift-nio"),
                .daemon("NIOPosix", of: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StateMachineLinksTests",
            dependencies: [
                "DaemonScripts",
                "StateMachineClient",
                "StateMachineLinks",
                "StateMachineProtocol",
                "StateMachineServer",
                "TestSupport",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StateMachineEtcdTests",
            dependencies: [
                "StateMachineCore",
                "StateMachineEtcd",
                "StateMachineProtocol",
                "StateMachineSQLite",
                "TestSupport",
                "statectl",
                "statemachine-cluster",
                .cluster("NIOCore", of: "swift-nio"),
                .cluster("NIOHPACK", of: "swift-nio-http2"),
                .cluster("NIOHTTP2", of: "swift-nio-http2"),
                .cluster("NIOPosix", of: "swift-nio"),
                .cluster("Subprocess", of: "swift-subprocess"),
            ],
            exclude: ["Recorded"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "statectlTests",
            dependencies: [
                "DaemonScripts",
                "Processes",
                "StateMachineClient",
                "StateMachineCore",
                "StateMachineDeclaration",
                "StateMachineProtocol",
                "TestSupport",
                "statectl",
                .daemon("ArgumentParser", of: "swift-argument-parser"),
                .daemon("SystemPackage", of: "swift-system"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StateMachineRunnerTests",
            dependencies: [
                "Processes",
                "StateMachineClient",
                "StateMachineDeclaration",
                "StateMachineProtocol",
                "StateMachineRunner",
                "Systemd",
                "TestSupport",
                "statectl",
                "statemachine",
                "statemachine-runner",
                .daemon("Subprocess", of: "swift-subprocess"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StateMachineWebTests",
            dependencies: [
                "StateMachineClient",
                "StateMachineProtocol",
                "StateMachineWeb",
                "TestSupport",
                "statectl",
                "statemachine",
                "statemachine-web",
                .daemon("Subprocess", of: "swift-subprocess"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StateMachineEmbeddingTests",
            dependencies: [
                "StateMachineEmbedding",
                "StateMachineServer",
                "TestSupport",
                "statemachine",
                .daemon("ArgumentParser", of: "swift-argument-parser"),
                .daemon("Logging", of: "swift-log"),
                .daemon("Subprocess", of: "swift-subprocess"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "StateMachineSQLite",
                "TestSupport",
                "statectl",
                "statemachine",
                .daemon("Subprocess", of: "swift-subprocess"),
            ],
            exclude: ["Golden", "Fence"],
            swiftSettings: strict
        ),
    ]
)
