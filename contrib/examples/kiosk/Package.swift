// swift-tools-version: 6.2

import PackageDescription

// A package of its own, as an application that embeds the daemon would be.
let package = Package(
    name: "kiosk",
    dependencies: [.package(name: "statemachine", path: "../../..")],
    targets: [
        .executableTarget(
            name: "kiosk",
            dependencies: [
                .product(name: "StateMachineEmbedding", package: "statemachine")
            ],
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]
        ),
        // The same kiosk a version later, with other names.
        .executableTarget(
            name: "kiosk-next",
            dependencies: [
                .product(name: "StateMachineEmbedding", package: "statemachine")
            ],
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]
        ),
        // The same daemon, put together by hand.
        .executableTarget(
            name: "kiosk-by-hand",
            dependencies: [
                .product(name: "StateMachineCore", package: "statemachine"),
                .product(name: "StateMachineHistory", package: "statemachine"),
                .product(name: "StateMachineServer", package: "statemachine"),
            ],
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]
        ),
    ]
)
