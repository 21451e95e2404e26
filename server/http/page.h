#pragma once

namespace tandem::http {

// The page at "/": HTML, style and script in one, without anything from elsewhere.
extern const char kPage[];

}  // namespace tandem::http
