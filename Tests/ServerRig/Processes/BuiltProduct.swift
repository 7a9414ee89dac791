// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation

/// The programs of this package that were built with the tests.
public enum BuiltProduct {
    /// Returns the path of an executable of this build, such as `resolve-test`.
    /// - Throws: ``RigError`` when it does not exist.
    public static func path(_ name: String) throws -> String {
        // The test bundle is an executable in the build folder on Linux; elsewhere it is some folders below.
        var folder = URL(filePath: CommandLine.arguments[0]).standardizedFileURL.deletingLastPathComponent()
        if let running = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
            folder = URL(filePath: running).deletingLastPathComponent()
        }
        let path = folder.appending(path: name).path
        guard FileManager.default.isExecutableFile(atPath: path) else { throw RigError("\(name) is not at \(path)") }
        return path
    }
}

extension Command {
    /// Returns a run of `resolve-test` on which the environment of the tests has no influence.
    package static func resolveTest(
        _ arguments: [String],
        environment: [String: String] = [:],
        input: String = ""
    ) throws -> Command {
        let neutral = ["HTTPDNS_CONFIG": "", "HTTPDNS_SOCKET": "", "SSL_CERT_FILE": "", "NO_COLOR": "", "COLUMNS": ""]
        let variables = neutral.merging(environment) { _, given in given }
        return Command(try BuiltProduct.path("resolve-test"), arguments, environment: variables, input: input)
    }
}
