import HTTPDNSPrimitives
import HTTPTypes
import Testing

@testable import CurlTransport

@Suite("Second sendings")
struct SecondSendingTests {
    @Test(
        "safe methods without a body may be sent twice by themselves, idempotent ones when somebody asks for it",
        arguments: [
            (HTTPRequest.Method.get, true, true), (.head, true, true), (.options, true, true), (.trace, false, true),
            (.put, false, true), (.delete, false, true), (.post, false, false), (.patch, false, false),
        ]
    )
    func methods(method: HTTPRequest.Method, isSafe: Bool, isIdempotent: Bool) throws {
        var request = TransferRequest(method: method, url: try ParsedURL("http://one.test/"), endpoints: [])
        #expect(request.mayBeSentTwice == isSafe && request.isIdempotent == isIdempotent)
        request.body = .bytes([1])
        #expect(!request.mayBeSentTwice && request.isIdempotent == isIdempotent)
        request.body = .stream(length: 1, AsyncThrowingStream { [1] })
        #expect(!request.mayBeSentTwice && !request.isIdempotent)
    }
}
