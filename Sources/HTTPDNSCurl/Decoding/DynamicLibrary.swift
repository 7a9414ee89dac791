// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A shared library that is loaded at run time (dlopen(3)), so that the program also starts without it. It stays loaded.
struct DynamicLibrary: Sendable {
    /// The name of a library or function that this machine lacks.
    struct Missing: Error {
        let name: String
    }

    /// The program with the libraries that it is linked with, such as the TLS library of libcurl.
    static let program = DynamicLibrary(handle: nil)

    nonisolated(unsafe) private let handle: UnsafeMutableRawPointer?  // Never closed; any thread may call dlsym(3).

    /// - Parameter name: The file name that the library's ABI has, such as `libzstd.so.1`.
    init(_ name: String) throws(Missing) {
        guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) else { throw Missing(name: name) }
        self.handle = handle
    }

    private init(handle: UnsafeMutableRawPointer?) { self.handle = handle }

    /// Returns a function of the library, by its own C type.
    func function<Function>(_ name: String, as type: Function.Type = Function.self) throws(Missing) -> Function {
        // A @convention(c) value is the address of its function.
        guard MemoryLayout<Function>.size == MemoryLayout<UnsafeMutableRawPointer>.size,
            let address = dlsym(handle, name)
        else { throw Missing(name: name) }
        return unsafeBitCast(address, to: type)
    }
}

/// The decoders that are loaded at run time. zlib is linked.
///
/// libcurl links both libraries on Debian and Ubuntu; a libcurl that was built without them leaves them out.
struct CodingLibraries: Sendable {
    let brotli: BrotliLibrary?
    let zstandard: ZstandardLibrary?
    /// The value of `Accept-Encoding`: the codings that can be decoded (RFC 9110 section 12.5.3).
    let acceptEncoding: String

    /// - Parameters:
    ///   - brotli: The file name of Brotli's decoder.
    ///   - zstandard: The file name of Zstandard.
    init(brotli: String = "libbrotlidec.so.1", zstandard: String = "libzstd.so.1") {
        self.brotli = try? BrotliLibrary(DynamicLibrary(brotli))
        self.zstandard = try? ZstandardLibrary(DynamicLibrary(zstandard))
        // libcurl's order.
        acceptEncoding = "deflate, gzip" + (self.brotli == nil ? "" : ", br") + (self.zstandard == nil ? "" : ", zstd")
    }

    /// The libraries of this machine, loaded on first use.
    static let system = CodingLibraries()
}
