# What Doxygen reads otherwise than a repository's pages: a link whose words are on two lines, code in headings, and links that lead
# nowhere among its pages: a folder is its README, sources and other files are named only, and parts of a page have no names.
/\[[^]`]*$/{
  N
  s#(\[[^]\n]*)\n([^]]*\]\()#\1 \2#
}
/^\#+ /s#`##g
s#\]\(((\.\./)*docs/[a-z]+|\.\./[a-z]+)/\)#](\1/README.md)#g
s#\[([^]]+)\]\((\.\./)*(examples|src|tests|LICENSE)(/([^)]*[^d)])?)?\)#\1#g
s#\[([^]]+)\]\(\#[^)]*\)#\1#g
s#(\]\([^):]+\.md)\#[^)]*\)#\1)#g
