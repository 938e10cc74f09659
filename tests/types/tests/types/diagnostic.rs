//! What of a diagnostic comes from the library.
//!
//! Places (`-->`) and quoted lines of the program itself do not count: a program could quote the
//! rule in its own names. Quoted lines of the library do: where only a move expresses a rule, the
//! rule stands in the comment beside the consuming `self`, and rustc prints that line.

/// The diagnostic without places and without what it quotes from the program.
pub fn library_text(stderr: &str) -> String {
    let mut text = String::new();
    let mut quotes_library = false;
    for line in stderr.lines() {
        let trimmed = line.trim_start();
        if let Some(place) = trimmed.strip_prefix("--> ").or_else(|| trimmed.strip_prefix("::: ")) {
            quotes_library = place.contains("kernel-lib/src/");
        } else if !is_quote(trimmed) || quotes_library {
            text += line;
            text.push('\n');
        }
    }
    text
}

/// One sentence or so of the compiler's.
pub struct Words {
    /// What it says, without quotation marks and bars.
    pub text: String,
    /// What rustc calls the error, on the first line of one.
    pub code: Option<String>,
    /// Whether the library could have said it: its notes, its panics and its comments, not what rustc says by itself.
    pub may_be_a_step: bool,
}

/// What the library says, piece by piece: the text that [`library_text`] leaves, and labels beside the program's lines.
pub fn words(stderr: &str) -> Vec<Words> {
    let mut said = Vec::new();
    let mut quotes_library = false;
    for text in stderr.lines() {
        let trimmed = text.trim_start();
        if let Some(place) = trimmed.strip_prefix("--> ").or_else(|| trimmed.strip_prefix("::: ")) {
            quotes_library = place.contains("kernel-lib/src/");
        } else if !is_quote(trimmed) || quotes_library {
            said.push(line(text));
        } else if let Some(label) = label(trimmed) {
            // Only a name of the library's can be a step there.
            let text = apart(label);
            let may_be_a_step = text != label;
            said.push(Words { text, code: None, may_be_a_step });
        }
    }
    said
}

/// What stands behind the marks under a quoted line.
fn label(quote: &str) -> Option<&str> {
    let (number, below) = quote.split_once('|')?;
    let label = below.trim_start_matches([' ', '|', '_', '^', '-', '/']);
    let marks = &below[..below.len() - label.len()];
    let marked = number.trim().is_empty() && marks.contains(['^', '-']);
    (marked && !label.is_empty()).then_some(label)
}

/// How notes begin that rustc writes by itself and that sound like advice.
const BY_ITSELF: &[&str] = &["if you want", "consider", "you can", "required", "the trait"];

/// A line that is no quote of the program.
fn line(line: &str) -> Words {
    let trimmed = line.trim_start();
    let said = |text: &str, code: Option<&str>, may_be_a_step| Words {
        text: apart(text),
        code: code.map(str::to_owned),
        may_be_a_step,
    };
    if let Some(error) = trimmed.strip_prefix("error[") {
        let (code, rest) = error.split_once("]: ").unwrap_or((error, ""));
        // Of other errors, rustc alone writes the first line.
        return said(rest, Some(code), ["E0080", "E0277"].contains(&code));
    }
    if let Some(error) = trimmed.strip_prefix("error: ") {
        return said(error, None, true);
    }
    if let Some(note) = trimmed.strip_prefix("= note: ") {
        let by_itself = BY_ITSELF.iter().any(|begin| note.starts_with(begin));
        return said(note, None, !by_itself);
    }
    if is_quote(trimmed) {
        // Of the library's source, only comments are words.
        let comment = trimmed.split_once("//").map_or("", |(_, comment)| comment);
        return said(comment, None, true);
    }
    said(trimmed, None, false)
}

/// A name that says a rule, such as `TakeThemApartRuleC9`, is taken apart into words: where the compiler says nothing but
/// names, the library's words are there.
fn apart(text: &str) -> String {
    let word = |word: &str| -> String {
        let name = word.trim_matches(|c: char| !c.is_alphanumeric());
        let Some((step, rule)) = name.split_once("Rule") else { return word.to_owned() };
        if !rule.starts_with(|c: char| c.is_ascii_uppercase()) {
            return word.to_owned();
        }
        let mut words = String::from(": ");
        for c in step.chars() {
            if c.is_ascii_uppercase() && !words.ends_with(' ') {
                words.push(' ');
            }
            words.extend(c.to_lowercase());
        }
        words + ": rule " + rule
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// `12 | let x = …`, `   |     ^^^ label`, `...` between quoted lines.
fn is_quote(line: &str) -> bool {
    line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().starts_with('|')
        || line == "..."
}

/// Whether `word` occurs with nothing on its sides that would make it part of another one.
pub fn has_word(text: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        !before.ends_with(part_of_word) && !after.starts_with(part_of_word)
    })
}

/// A program without its line comments.
pub fn without_comments(source: &str) -> String {
    let code = |line: &str| line.split("//").next().unwrap_or_default().to_owned() + "\n";
    source.lines().map(code).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STDERR: &str = "\
error[E0277]: the accumulator was not fenced
  --> ../compile-fail/D1_x.rs:12:9
   |
12 |     acc.ld(); // D2
   |         ^^ D3
   |
   = note: call `fence_after_thread_sync` first (rule D1)
note: `Accumulator::release` takes ownership
  --> $WORKSPACE/kernel-lib/src/tcgen05.rs
   |
   |     self, // D5: once released
   |     ^^^^
";

    #[test]
    fn only_the_program_s_own_lines_are_left_out() {
        let text = library_text(STDERR);
        for (rule, said) in [("D1", true), ("D2", false), ("D3", false), ("D5", true)] {
            assert_eq!(has_word(&text, rule), said, "{rule} in\n{text}");
        }
    }

    #[test]
    fn names_that_say_a_rule_are_words() {
        let stderr =
            "error[E0282]: cannot infer type of the type parameter `TakeThemApartRuleC9`\n";
        let said = &words(stderr)[0];
        assert_eq!(said.code.as_deref(), Some("E0282"));
        assert!(has_word(&said.text, "C9") && said.text.contains(": take them apart:"));
    }

    #[test]
    fn labels_are_words_and_quoted_lines_are_not() {
        let said: Vec<String> = words(STDERR).into_iter().map(|words| words.text).collect();
        assert!(said.contains(&"D3".to_owned()), "{said:?}");
        assert!(!said.iter().any(|text| text.contains("acc.ld")), "{said:?}");
    }

    #[test]
    fn of_quoted_source_only_the_library_s_comments_are_words() {
        let said: Vec<String> = words(STDERR).into_iter().map(|words| words.text).collect();
        assert!(said.contains(&" D5: once released".to_owned()), "{said:?}");
        assert!(!said.iter().any(|text| text.contains("self")), "{said:?}");
    }

    #[test]
    fn a_longer_id_is_another_id() {
        assert!(has_word("rule D1: …", "D1"));
        assert!(!has_word("rule D11: …, AD1, D1_x", "D1"));
    }

    #[test]
    fn comments_of_a_program_are_left_out() {
        assert!(!has_word(&without_comments("//! D1\nlet x = 1; // D1\n"), "D1"));
        assert!(has_word(&without_comments("struct D1; // x\n"), "D1"));
    }
}
