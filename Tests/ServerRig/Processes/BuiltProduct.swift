internal import Foundation

/// Programs of this package that were built beside the tests.
public enum BuiltProduct {
    /// The path of an executable of this build, such as `resolve-test`.
    /// - Throws: ``RigError`` when it is not there.
    public static func path(_ name: String) throws -> String {
        // The test bundle is an executable in the build folder on Linux; elsewhere it lies some folders below.
        var folder = URL(filePath: CommandLine.arguments[0]).standardizedFileURL.deletingLastPathComponent()
        if let running = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
            folder = URL(filePath: running).deletingLastPathComponent()
        }
        let path = folder.appending(path: name).path
        guard FileManager.default.isExecutableFile(atPath: path) else { throw RigError("\(name) is not at \(path)") }
        return path
    }
}
