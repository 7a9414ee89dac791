// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// Libraries that replace functions of a program (LD_PRELOAD), compiled from `Scripts`.
enum PreloadedLibrary {
    static var compiler: String? { ["cc", "clang", "gcc"].lazy.compactMap(Command.find).first }

    /// Compiles `Scripts/NAME.c` into a file that is removed with this process.
    /// - Throws: ``RigError`` without a C compiler.
    static func compile(_ name: String) async throws -> String {
        guard let compiler else { throw RigError("no C compiler is installed, and \(name) needs one") }
        let source = Repository.path("Scripts/\(name).c")
        let library = try FileDescriptor.newFile(name, ".so").name
        let result = try await Command(compiler, ["-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"]).run()
        guard result.status == 0 else { throw RigError("\(name) does not compile: \(result.error)") }

        removeAtExit(library)
        return library
    }

    /// Throws when the library was not loaded: the absence of calls would prove nothing.
    static func check(_ result: CommandResult) throws {
        guard !result.error.contains("cannot be preloaded") else {
            throw RigError("preloading failed: \(result.error)")
        }
    }
}
