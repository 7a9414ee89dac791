// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A shared library that is loaded at run time (dlopen(3)), so that the program also starts without it. It stays loaded.
struct DynamicLibrary {
    private let handle: UnsafeMutableRawPointer

    /// - Parameter name: The file name that the library's ABI has, such as `libzstd.so.1`.
    init?(_ name: String) {
        guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) else { return nil }
        self.handle = handle
    }

    /// Returns a function of the library; `nil` when the library does not export it.
    /// - Parameter type: The function's own C type.
    func function<Function>(_ name: String, as type: Function.Type) -> Function? {
        guard MemoryLayout<Function>.size == MemoryLayout<UnsafeMutableRawPointer>.size else { return nil }
        // A @convention(c) value is the address of its function.
        return dlsym(handle, name).map { unsafeBitCast($0, to: type) }
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
        self.brotli = DynamicLibrary(brotli).flatMap { BrotliLibrary($0) }
        self.zstandard = DynamicLibrary(zstandard).flatMap { ZstandardLibrary($0) }
        // libcurl's order.
        acceptEncoding = "deflate, gzip" + (self.brotli == nil ? "" : ", br") + (self.zstandard == nil ? "" : ", zstd")
    }

    /// The libraries of this machine, loaded on first use.
    static let system = CodingLibraries()
}
