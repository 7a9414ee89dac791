// swift-tools-version: 6.2
import PackageDescription

// The packages that a server imports beside this one, in one file with it: no name of theirs may become ambiguous.
let package = Package(
    name: "NameCollisions",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-httpdns", path: "../.."),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    ],
    targets: [
        .testTarget(
            name: "NameCollisionTests",
            dependencies: [
                .product(name: "GRPCCore", package: "grpc-swift-2"),
                .product(name: "HTTPDNS", package: "swift-httpdns"),
                .product(name: "HTTPDNSConfiguration", package: "swift-httpdns"),
                .product(name: "HTTPDNSTesting", package: "swift-httpdns"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        )
    ]
)
