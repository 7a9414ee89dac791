// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNS
public import HTTPTypes

extension HTTPDNSStubs.Answer {
    /// Returns an answer with the contents of a regular file.
    ///
    /// The file is opened for each request, and read in pieces of at most 256 KiB as the caller reads the body. The type is
    /// that of the extension, from a small table, and otherwise `application/octet-stream`. A file that is removed later
    /// fails the request with ``HTTPDNSStubs/AnswerError`` in `underlying`.
    /// - Throws: ``HTTPDNSStubs/AnswerError`` with code `unreadable`, also for a folder.
    public static func file(
        _ path: String,
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = [:]
    ) throws(HTTPDNSStubs.AnswerError) -> HTTPDNSStubs.Answer {
        _ = try start(of: path)
        return file(path, MediaType.ofFile(path), status, headers)
    }

    /// Returns an answer with an image in a regular file, as ``file(_:status:headers:)`` does. The type is that of its first
    /// bytes, or else of its extension, as in ``image(_:name:status:headers:)``.
    /// - Throws: ``HTTPDNSStubs/AnswerError`` with code `unreadable`, also for a folder.
    public static func image(
        file path: String,
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = [:]
    ) throws(HTTPDNSStubs.AnswerError) -> HTTPDNSStubs.Answer {
        let type = MediaType.ofImage(try start(of: path)) ?? MediaType.ofFile(path)
        return file(path, type, status, headers)
    }

    /// Returns an answer with the files of a folder, for all requests below a path.
    ///
    /// The path of the URL, without its percent-encoding, is the path of the file below the folder. A path that does not
    /// lead to a regular file in the folder gets the status 404. This includes a path with `..`, an encoded slash or a zero
    /// byte, and a symbolic link that leads out of the folder. The query is ignored.
    /// - Parameters:
    ///   - root: The path of the folder.
    ///   - index: The name of the file that is the answer for a folder; nil for none.
    ///   - prefix: The path of the URL that stands for the folder, such as `/static`. Requests for other paths get the
    ///     status 404.
    ///   - headers: The header fields of answers with a file.
    /// - Throws: ``HTTPDNSStubs/AnswerError`` with code `unreadable` or `notFolder`.
    public static func folder(
        _ root: String,
        index: String? = "index.html",
        removing prefix: String = "",
        headers: HTTPFields = [:]
    ) throws(HTTPDNSStubs.AnswerError) -> HTTPDNSStubs.Answer {
        let folder = try ServedFolder(root, index: index, prefix: prefix)
        return HTTPDNSStubs.Answer(
            respond: { use in
                guard let path = folder.file(for: use.request.url), let file = try? await ReadableFile.open(path) else {
                    try Task.checkCancellation()
                    return AnswerContent(
                        status: .notFound,
                        fields: [:],
                        body: .bytes(Array("not found\n".utf8)),
                        type: MediaType.text
                    )
                    .response(to: use.request.method)
                }
                return content(of: file, MediaType.ofFile(path), .ok, headers).response(to: use.request.method)
            },
            description: "folder \(root)"
        )
    }

    private static func file(
        _ path: String,
        _ type: String,
        _ status: HTTPResponse.Status,
        _ headers: HTTPFields
    ) -> HTTPDNSStubs.Answer {
        HTTPDNSStubs.Answer(
            respond: { use in
                do {
                    let file = try await ReadableFile.open(path)
                    return content(of: file, type, status, headers).response(to: use.request.method)
                } catch let fault as FileFault {
                    throw HTTPDNSStubs.AnswerError.unreadable(fault, path)
                }
            },
            description: "file \(path)"
        )
    }

    private static func content(
        of file: ReadableFile,
        _ type: String,
        _ status: HTTPResponse.Status,
        _ headers: HTTPFields
    ) -> AnswerContent {
        let body = HTTPDNSClient.Response.Body.stream(FileChunks(file: file), length: file.length)
        return AnswerContent(status: status, fields: headers, body: body, type: type)
    }

    /// Returns the first bytes of a file, which shows whether it can be read.
    private static func start(of path: String) throws(HTTPDNSStubs.AnswerError) -> [UInt8] {
        do {
            return try ReadableFile.contents(of: path, upTo: MediaType.decisive)
        } catch {
            throw .unreadable(error, path)
        }
    }
}

/// The contents of a file, up to its length when it was opened.
private struct FileChunks: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let file: ReadableFile

    struct AsyncIterator: AsyncIteratorProtocol {
        let file: ReadableFile
        var offset: Int64 = 0

        mutating func next() async throws -> [UInt8]? {
            guard offset < file.length else { return nil }
            do {
                let chunk = try await file.read(at: offset)
                offset += Int64(chunk.count)
                return chunk
            } catch let fault as FileFault {
                throw HTTPDNSStubs.AnswerError.unreadable(fault, fault.path)
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(file: file) }
}
