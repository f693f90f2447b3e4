// swift-tools-version: 6.2

import PackageDescription

// The core alone: without traits nothing else is resolved.
let package = Package(
    name: "core",
    dependencies: [.package(name: "statemachine", path: "../../..", traits: [])],
    targets: [
        .executableTarget(
            name: "core",
            dependencies: [.product(name: "StateMachineCore", package: "statemachine")],
            swiftSettings: [.swiftLanguageMode(.v6)]
        )
    ]
)
